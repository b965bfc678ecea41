//! How public roles do these tunings, each in small.
use crate::bed::Bed;

#[test]
fn lists_in_lists_with_defaults_and_validation() {
    let bed = Bed::one();
    bed.file("templates/s.j2", "{% for i in settings %}{{ i.name }}={{ i.value }}\n{% endfor %}");
    let done = bed.play(
        r#"- hosts: all
  gather_facts: false
  vars:
    more: [{name: vm.y, value: 2}, {name: vm.z, value: 3, enable: "no"}]
    settings: [{name: p, value: 1}]
  tasks:
    - lineinfile: {path: "{{ root }}/sysctl", line: "{{ item.name }} = {{ item.value }}", regexp: "^{{ item.name | regex_escape }}\\s*=", create: true}
      with_items:
        - {name: vm.x, value: "{{ 1 + 0 }}"}
        - "{{ more }}"
      when: item.enable | default(true) | bool
    - template: {src: s.j2, dest: "{{ root }}/t", validate: "grep -q p=1 %s"}
    - template: {src: s.j2, dest: "{{ root }}/u", validate: "grep -q never %s"}
      ignore_errors: true
      register: bad
    - name: t
      debug: {msg: "{{ bad is failed }}"}
"#,
    );
    done.ok();
    assert_eq!(bed.got("a/sysctl").as_deref(), Some("vm.x = 1\nvm.y = 2\n"));
    assert_eq!(bed.got("a/t").as_deref(), Some("p=1\n"));
    assert_eq!(bed.got("a/u"), None);
    assert_eq!(done.said("a", "t"), ["true"]);
}

#[test]
fn the_kernel_line_by_set_and_for() {
    let bed = Bed::one();
    std::fs::write(bed.dir.join("roots/a/grub"), "GRUB_CMDLINE_LINUX=\"quiet iommu=off a=1\"\n").unwrap();
    bed.play(
        r#"- hosts: all
  gather_facts: false
  vars:
    wanted: ["iommu=pt", "nosmt"]
    unwanted: [a]
  tasks:
    - shell: ". {{ root }}/grub && echo $GRUB_CMDLINE_LINUX"
      changed_when: false
      check_mode: false
      register: now
    - lineinfile:
        path: "{{ root }}/grub"
        regexp: '^GRUB_CMDLINE_LINUX='
        line: "GRUB_CMDLINE_LINUX=\"{{ line }}\""
      vars:
        pairs: >-
          {%- set all = namespace(words={}) -%}
          {%- for word in now.stdout.split() + wanted -%}
          {%- set key = word.split('=')[0] -%}
          {%- if key not in unwanted -%}{%- set all.words = all.words | combine({key: word}) -%}{%- endif -%}
          {%- endfor -%}
          {{ all.words.values() | join(' ') }}
        line: "{{ pairs }}"
    - lineinfile: {path: "{{ root }}/grub", regexp: '^(GRUB_CMDLINE_LINUX="(?!.*\bmitigations=)[^"]*)"', line: '\1 mitigations=auto"', backrefs: true}
    - lineinfile: {path: "{{ root }}/grub", regexp: '^(GRUB_CMDLINE_LINUX="(?!.*\bmitigations=)[^"]*)"', line: '\1 mitigations=auto"', backrefs: true}
"#,
    )
    .ok();
    assert_eq!(
        bed.got("a/grub").as_deref(),
        Some("GRUB_CMDLINE_LINUX=\"quiet iommu=pt nosmt mitigations=auto\"\n")
    );
}

#[test]
fn a_read_is_decoded_compared_and_refused() {
    let bed = Bed::one();
    std::fs::write(bed.dir.join("roots/a/cmdline"), "quiet iommu=pt\n").unwrap();
    let done = bed.play(
        r#"- hosts: all
  gather_facts: false
  vars: {wanted: [iommu=pt, nosmt], settings: [{name: x, value: true}]}
  tasks:
    - slurp: {src: "{{ root }}/cmdline"}
      register: line
    - set_fact: {have: "{{ (line.content | b64decode).split() | sort }}"}
    - name: t
      debug: {msg: "{{ wanted | difference(have) | string }} {{ line.content | b64decode | regex_search('iommu=(\\w+)', '\\1') | first }}"}
    - fail: {msg: "booleans are not kernel settings"}
      when: settings | selectattr('value', 'sameas', true) | list | length > 0
      ignore_errors: true
      register: refused
    - name: u
      debug: {msg: "{{ refused is failed }}"}
    - stat: {path: "{{ root }}/link"}
      register: there
    - set_fact: {at: "{{ there.stat.lnk_source if there.stat.exists and there.stat.islnk else root ~ '/plain' }}"}
    - copy: {dest: "{{ at }}", content: x, backup: false}
    - assert:
        that: ["at | dirname == root", "'10.1' is version('9.2', '>')"]
        fail_msg: no
        success_msg: yes it is
"#,
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["['nosmt'] pt"]);
    assert_eq!(done.said("a", "u"), ["true"]);
    assert_eq!(bed.got("a/plain").as_deref(), Some("x"));
}

#[test]
fn nested_volumes_and_guards() {
    let bed = Bed::one();
    let done = bed.play(
        r#"- hosts: all
  gather_facts: false
  vars:
    groups_of: [{name: vg0, lvs: [{name: p, size: 1}, {name: q}]}, {name: vg1}]
  tasks:
    - name: t
      debug: {msg: "{{ item.0.name }}/{{ item.1.name }} {{ item.1.size | default('100%FREE') }}"}
      loop: "{{ groups_of | subelements('lvs', skip_missing=True) }}"
      loop_control: {label: "{{ item.1.name }}"}
      when: [groups_of is defined, item.0.name is defined]
    - name: r
      shell: "echo x >> {{ root }}/n; wc -l < {{ root }}/n"
      register: n
      until: n.stdout | int >= ansible_play_batch | length + 1
      retries: "{{ 90 // 30 }}"
      delay: "{{ 0 }}"
    - name: when
      debug: {msg: last}
      when: (n.stdout | int == 2) | bool == true
"#,
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["vg0/p 1", "vg0/q 100%FREE"]);
    assert_eq!(done.said("a", "when"), ["last"]);
}

/// The playbooks of the benchmark: one written out, one with a loop, one with facts first. All leave the same.
#[test]
fn the_loop_and_the_facts_leave_what_the_written_out_playbook_leaves() {
    let bench = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/play/ansible");
    let leaves = |name: &str| {
        let bed = Bed::one();
        let root = bed.dir.join("roots/a");
        let folders = [
            "etc/sysctl.d",
            "etc/default",
            "etc/udev/rules.d",
            "etc/modprobe.d",
            "etc/security/limits.d",
            "usr/local/lib",
        ];
        for folder in folders {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(
            root.join("etc/default/grub"),
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n",
        )
        .unwrap();
        std::fs::write(root.join("etc/crontab"), "x\n").unwrap();
        let text = |path: &str| std::fs::read_to_string(bench.join(path)).unwrap();
        // Paths of the host become paths below its folder; what begins with a template must be quoted.
        let quoted = |text: String| -> String {
            let line = |line: &str| match line.split_once(": ") {
                Some((key, value)) if value.starts_with("/etc/") || value.starts_with("/usr/") => {
                    format!("{key}: \"{{{{ root }}}}{value}\"")
                }
                _ => line.to_owned(),
            };
            text.lines()
                .map(|text| line(text) + "\n")
                .collect::<String>()
                .replace("hosts: storage", "hosts: all")
        };
        for file in ["site.yml", "site-loop.yml", "site-facts.yml"] {
            bed.file(&format!("ansible/{file}"), &quoted(text(file)));
        }
        bed.file("ansible/vars.yml", &text("vars.yml")).file("blob.bin", &"blob\n".repeat(1000));
        for entry in std::fs::read_dir(bench.join("templates")).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            bed.file(&format!("ansible/templates/{name}"), &text(&format!("templates/{name}")));
        }
        bed.file("site.yml", &format!("- import_playbook: ansible/{name}\n"));
        bed.call(&["--yes"]).ok();
        bed.call(&["--check", "--detailed-exitcode"]).ok();
        let mut files = Vec::new();
        gather(&root, &mut files);
        files.sort();
        let files: Vec<(String, String)> = files
            .into_iter()
            .map(|(path, text)| (path.replace(&*root.to_string_lossy(), ""), text))
            .collect();
        files
    };
    let site = leaves("site.yml");
    assert!(site.len() >= 8, "{site:?}");
    assert_eq!(leaves("site-loop.yml"), site);
    assert_eq!(leaves("site-facts.yml"), site);
}

fn gather(folder: &std::path::Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            gather(&entry.path(), files);
        } else {
            files.push((entry.path().display().to_string(), std::fs::read_to_string(entry.path()).unwrap()));
        }
    }
}
