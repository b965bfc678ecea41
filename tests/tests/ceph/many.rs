//! One cluster and many hosts: one change, one way to it, and one value.
use super::bed::Bed;
use super::cluster::Cluster;

const SETTING: [(&str, &str); 1] = [("osd", "osd_max_backfills")];

#[test]
fn the_same_task_of_three_hosts_is_one_change() {
    let Some(cluster) = Cluster::any() else { return };
    cluster.clear(&SETTING);
    let bed = Bed::new(&cluster, &["x", "y", "z"], &["a"], "");
    let before = cluster.version();
    let book = "\
- hosts: x,y,z
  gather_facts: false
  tasks:
    - name: Backfills
      ceph_config: {who: osd, name: osd_max_backfills, value: 5}
      register: backfills
      notify: told
    - name: Known
      debug: {msg: 'changed {{ backfills.changed }}'}
    - name: Seen by every host only when it is done
      command: ceph --conf {{ ceph_conf }} config-key get config/osd/osd_max_backfills
      register: stored
      changed_when: false
    - name: Stored
      debug: {msg: 'stored {{ stored.stdout }}'}
  handlers:
    - name: told
      debug: {msg: handled}
";
    let done = bed.play_book(book);
    done.ended(0);
    assert_eq!(cluster.version(), before + 1, "one change");
    assert_eq!(done.count("for cluster FSID, by a"), 1, "shown once\n{}", done.out);
    done.says("the same change of cluster FSID as on x");
    assert_eq!(done.err.matches("changed True").count(), 3, "{}", done.err);
    assert_eq!(done.err.matches("stored 5").count(), 3, "{}", done.err);
    assert_eq!(done.err.matches(": handled").count(), 3, "{}", done.err);
    let again = bed.again();
    again.ended(0);
    assert_eq!(again.err.matches("changed False").count(), 3, "{}", again.err);
    assert_eq!(cluster.version(), before + 1);
    cluster.clear(&SETTING);
}

#[test]
fn unequal_values_of_many_hosts_are_an_error_that_names_both() {
    let Some(cluster) = Cluster::any() else { return };
    cluster.clear(&SETTING);
    let bed = Bed::new(&cluster, &["x", "y"], &["a"], "");
    bed.host_vars("x", "backfills: 2\n").host_vars("y", "backfills: 3\n");
    let task =
        "- name: Backfills\n  ceph_config: {who: osd, name: osd_max_backfills, value: '{{ backfills }}'}\n";
    let before = cluster.version();
    let done = bed.play("x,y", task);
    assert_ne!(done.code, 0, "{}", done.out);
    done.says("y and x ask for different values of config/osd/osd_max_backfills of cluster FSID");
    assert_eq!(cluster.version(), before, "nothing is begun");
    let two = "\
- hosts: x
  gather_facts: false
  tasks:
    - name: Two
      ceph_config: {who: osd, name: osd_max_backfills, value: 2}
- hosts: y
  gather_facts: false
  tasks:
    - name: Three
      ceph_config: {who: osd, name: osd_max_backfills, value: 3}
";
    let done = bed.play_book(two);
    assert_ne!(done.code, 0);
    done.says("`Two` at").says("different values");
    assert_eq!(cluster.version(), before);
    // Different things of one cluster are no fight.
    let each = "- ceph_config: {who: 'osd.{{ backfills }}', name: osd_max_backfills, value: 6}\n";
    bed.host_vars("x", "backfills: 0\n").host_vars("y", "backfills: 1\n");
    bed.play("x,y", each).ended(0);
    assert_eq!(cluster.held("osd_max_backfills"), ["6", "6", "1"]);
    cluster.clear(&[("osd.0", "osd_max_backfills"), ("osd.1", "osd_max_backfills")]);
}

#[test]
fn the_same_change_of_two_plays_is_made_once() {
    let Some(cluster) = Cluster::any() else { return };
    cluster.clear(&SETTING);
    let bed = Bed::new(&cluster, &["x", "y"], &["a"], "");
    let play = |host: &str| {
        format!(
            "- hosts: {host}\n  gather_facts: false\n  tasks:\n    - ceph_config: {{who: osd, name: osd_max_backfills, value: 4}}\n"
        )
    };
    let before = cluster.version();
    let done = bed.play_book(&format!("{}{}", play("x"), play("y")));
    done.ended(0).says("the same change of cluster FSID as on x");
    assert_eq!(cluster.version(), before + 1);
    bed.call(&["undo", "last"]).ended(0);
    assert_eq!(cluster.stored("osd", "osd_max_backfills"), None);
}

#[test]
fn the_way_leads_over_the_first_host_that_can_be_reached() {
    let Some(cluster) = Cluster::any() else { return };
    cluster.clear(&SETTING);
    let bed = Bed::new(&cluster, &["x", "y"], &["a", "b"], "");
    bed.host_vars("a", "ansible_connection: ssh\nansible_host: 127.0.0.1\nansible_port: 1\n");
    let task = "- ceph_config: {who: osd, name: osd_max_backfills, value: 5}\n";
    bed.play("x,y", task).ended(0).says("for cluster FSID, by b");
    assert_eq!(cluster.stored("osd", "osd_max_backfills").as_deref(), Some("5"));
    bed.call(&["undo", "last"]).ended(0);
    assert_eq!(cluster.stored("osd", "osd_max_backfills"), None);
    bed.host_vars("b", "ansible_connection: ssh\nansible_host: 127.0.0.1\nansible_port: 1\n");
    let done = bed.again();
    assert_ne!(done.code, 0);
    done.says("none of the hosts by which the cluster is reached can be reached: a, b");
}

#[test]
fn without_a_way_the_task_says_so() {
    let Some(cluster) = Cluster::any() else { return };
    let bed = Bed::new(&cluster, &["x"], &[], "");
    let task = "- ceph_config: {who: osd, name: osd_max_backfills, value: 5}\n";
    bed.check("x", task).says("`ceph_via` is not set, and the inventory has no group `mons`");
    let named = "- ceph_config: {who: osd, name: osd_max_backfills, value: 5}\n  vars: {ceph_via: x}\n";
    bed.check("x", named).ended(0).says("for cluster FSID, by x");
    let wrong = "- ceph_config: {who: osd, name: osd_max_backfills, value: 5}\n  vars: {ceph_via: nobody}\n";
    bed.check("x", wrong).says("`ceph_via` chooses no host");
}

#[test]
fn another_cluster_than_the_inventory_names_is_left_alone() {
    let Some(cluster) = Cluster::any() else { return };
    cluster.clear(&SETTING);
    let other = "a2eae81c-f317-4139-a39f-16b56e5c3384";
    let bed = Bed::new(&cluster, &[], &["a"], &format!("ceph_fsid: {other}"));
    let done = bed.play("a", "- ceph_config: {who: osd, name: osd_max_backfills, value: 5}\n");
    assert_ne!(done.code, 0);
    done.says(&format!("the cluster that answers is FSID, and `ceph_fsid` says {other}"));
    assert_eq!(cluster.stored("osd", "osd_max_backfills"), None);
}
