//! How a file that is there gets a new content: by a rename, or in place.
use super::facts::Identity;
use super::image::Meta;
use super::seen::{Kind, Node};

/// How a file gets a new content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writing {
    /// A new file is renamed over it: at once or not at all.
    Rename,
    /// Its bytes are written over, which is not atomic.
    InPlace {
        /// Why, to go on after the file's name.
        why: String,
    },
    /// Not at all by this user.
    Denied {
        /// Why, to go on after the file's name.
        why: String,
    },
}

impl Writing {
    /// How this user writes that file. Who is not root cannot give a new file to another user or to a group that is not
    /// one's own: a rename would change the owner, so such a file is written in place or not at all.
    pub fn of(node: &Node, who: &Identity) -> Self {
        if node.kind != Kind::File {
            return Self::Rename;
        }
        if node.mount_point {
            return Self::InPlace { why: "is a mount point".to_owned() };
        }
        if node.links > 1 {
            return Self::InPlace { why: format!("has {} hard links", node.links) };
        }
        let (others, own) = (node.mode & 0o022 != 0, node.mode & 0o200 != 0);
        match (who.uid == 0, node.uid == who.uid, node.gid == who.gid) {
            (true, ..) | (_, true, true) => Self::Rename,
            (_, true, false) if own => Self::InPlace {
                why: format!(
                    "belongs to the group {}, which a rename by {} could change",
                    node.group, who.user
                ),
            },
            (_, true, false) => Self::Rename,
            (_, false, _) if others => Self::InPlace {
                why: format!("belongs to {}, which a rename by {} would change", node.user, who.user),
            },
            (_, false, _) => Self::Denied {
                why: format!(
                    "belongs to {} and may not be written by {}; a rename would change its owner",
                    node.user, who.user
                ),
            },
        }
    }

    /// Whether the bytes of the file that is there are written over.
    pub fn is_in_place(&self) -> bool {
        !matches!(self, Self::Rename)
    }
}

impl Meta {
    /// What of it a node does not have yet: what is the same is not set again, since who does not own a file may not.
    pub fn beyond(&self, node: &Node) -> Self {
        let differs = |owner: &super::image::Owner, id: u32, name: &str| !owner.is(id, name);
        Self {
            mode: self.mode.filter(|mode| *mode != node.mode),
            owner: self.owner.clone().filter(|owner| differs(owner, node.uid, &node.user)),
            group: self.group.clone().filter(|group| differs(group, node.gid, &node.group)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Writing;
    use crate::host::Host;
    use crate::vocabulary::{HostPath, Identity, Meta, Node, Owner, Read, Seen};

    fn node(mode: u32, uid: u32, gid: u32) -> Node {
        let path = HostPath::new("/srv/x").unwrap();
        let Seen::Node(node) = Host::new().file("/srv/x", "x").see(&Read::text(&path)) else {
            panic!("a file")
        };
        Node { mode, uid, gid, user: format!("u{uid}"), group: format!("g{gid}"), ..node }
    }

    #[test]
    fn who_may_rename() {
        let user = |uid| Identity { user: format!("u{uid}"), uid, group: format!("g{uid}"), gid: uid };
        let root = Identity::default();
        let way = |node: Node, who: &Identity| match Writing::of(&node, who) {
            Writing::Rename => "rename",
            Writing::InPlace { .. } => "in place",
            Writing::Denied { .. } => "denied",
        };
        assert_eq!(way(node(0o644, 0, 0), &root), "rename");
        assert_eq!(way(node(0o644, 7, 7), &root), "rename");
        assert_eq!(way(Node { links: 2, ..node(0o644, 0, 0) }, &root), "in place");
        assert_eq!(way(Node { mount_point: true, ..node(0o644, 0, 0) }, &root), "in place");
        assert_eq!(way(node(0o644, 7, 7), &user(7)), "rename");
        assert_eq!(way(node(0o664, 7, 8), &user(7)), "in place");
        assert_eq!(way(node(0o444, 7, 8), &user(7)), "rename");
        assert_eq!(way(node(0o666, 0, 0), &user(7)), "in place");
        assert_eq!(way(node(0o664, 0, 7), &user(7)), "in place");
        assert_eq!(way(node(0o644, 0, 0), &user(7)), "denied");
    }

    #[test]
    fn what_is_there_is_not_set_again() {
        let meta =
            Meta { mode: Some(0o644), owner: Some(Owner::Id(7)), group: Some(Owner::Name("g8".into())) };
        assert_eq!(meta.beyond(&node(0o644, 7, 8)), Meta::default());
        assert_eq!(meta.beyond(&node(0o600, 0, 8)).mode, Some(0o644));
        assert_eq!(meta.beyond(&node(0o644, 0, 8)).owner, Some(Owner::Id(7)));
    }
}
