//! `--list-tasks`, `--list-tags` and `--list-hosts`: what a playbook holds, without a look at any host.
use super::exit::Exit;
use super::play::Play;
use super::term;
use tunerun::engine::walk::Scene;

impl Play {
    /// Lists tasks or tags.
    pub(super) fn list(&self, playbook: &tunerun::playbook::Playbook) -> Exit {
        use std::fmt::Write as _;
        let selection = tunerun::playbook::Selection::new(&self.tags, &self.skip_tags);
        let mut out = String::new();
        if self.list_tasks {
            for (number, play) in playbook.plays.iter().enumerate() {
                let _ = writeln!(out, "play #{} ({})", number + 1, play.name);
                for task in tunerun::playbook::tags::selected(play, &selection) {
                    let tags: Vec<&str> = task.settings.tags.iter().map(|tag| &**tag).collect();
                    let _ = writeln!(out, "  {}\ttags: [{}]", task.title(), tags.join(", "));
                }
            }
        }
        if self.list_tags {
            for tag in tunerun::playbook::tags::tags(playbook) {
                let _ = writeln!(out, "{tag}");
            }
        }
        term::data(&out);
        Exit::Done
    }
}

/// Lists the hosts of each play.
pub(super) fn list_hosts(scene: &Scene) -> Exit {
    use std::fmt::Write as _;
    let mut out = String::new();
    let inventory = scene.inventory();
    for (play, hosts) in scene.playbook.plays.iter().zip(scene.chosen().iter()) {
        let many = if hosts.len() == 1 { "host" } else { "hosts" };
        let _ = writeln!(out, "play {}: {} {many}", play.name, hosts.len());
        for host in hosts {
            let _ = writeln!(out, "  {}", inventory.host_name(*host));
        }
    }
    term::data(&out);
    Exit::Done
}
