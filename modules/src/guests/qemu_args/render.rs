//! The description of a guest as wishes for options.
use super::line::{Properties, own_name};
use super::wish::{Drive, Guest};
use crate::argument::Scalar;
use crate::guests::libvirt_domain::wish::{Vcpus, VhostUserScsi};
use crate::shape::parse_size;

/// One thing that is wanted of the options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// An option without a value.
    Flag(&'static str),
    /// The one option of a name, with a value whose head and properties are so.
    Only {
        /// The option.
        option: String,
        /// The head and the properties.
        wanted: Properties,
    },
    /// One of several options of a name, told by one of these properties.
    One {
        /// The option.
        option: String,
        /// What tells it, the surest first: property and value.
        by: Vec<(String, String)>,
        /// The head and the properties.
        wanted: Properties,
    },
    /// An option, with a value letter by letter.
    Text {
        /// The option.
        option: String,
        /// Its value.
        value: Option<String>,
    },
    /// No such option; with a name only that one.
    Gone {
        /// The option.
        option: String,
        /// Its `id`, `node-name` or driver.
        id: Option<String>,
    },
}

/// The order of properties within an option.
pub(super) fn order(option: &str) -> &'static [&'static str] {
    match option {
        "drive" => &["format", "id", "if", "cache", "aio", "file"],
        "device" => &["iothread", "drive", "id", "chardev", "num_queues", "num-queues", "bootindex"],
        "object" => &["id", "size", "mem-path", "share"],
        "blockdev" => &["node-name", "cache.direct", "pool", "image"],
        "smp" => &["sockets", "dies", "cores", "threads"],
        _ => &[],
    }
}

fn properties(head: Option<&str>, named: &[(&str, Option<String>)]) -> Properties {
    let head = head.map(|head| (head.to_owned(), None));
    let named = named.iter().filter_map(|(name, value)| Some(((*name).to_owned(), Some(value.clone()?))));
    Properties(head.into_iter().chain(named).collect())
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// What a description wants, in the order of the options.
pub(super) fn wishes(guest: &Guest) -> Vec<Wish> {
    let mut wishes = Vec::new();
    let only = |option: &str, wanted: Properties| Wish::Only { option: option.to_owned(), wanted };
    for text in &guest.without {
        let (option, id) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let id = Some(id.trim()).filter(|id| !id.is_empty()).map(ToOwned::to_owned);
        wishes.extend(own_name(option).map(|option| Wish::Gone { option, id }));
    }
    match guest.kvm {
        Some(true) => wishes.push(Wish::Flag("enable-kvm")),
        Some(false) => wishes.push(Wish::Gone { option: "enable-kvm".to_owned(), id: None }),
        None => {}
    }
    wishes.extend(guest.machine.as_ref().map(|machine| only("machine", properties(Some(machine), &[]))));
    wishes.extend(guest.cpu.as_ref().map(|cpu| only("cpu", Properties::parse(cpu))));
    if let Some(vcpus) = &guest.vcpus {
        let text = |count: Option<u32>| count.map(|count| count.to_string());
        wishes.push(only(
            "smp",
            match vcpus {
                Vcpus::Count(count) => properties(Some(&count.to_string()), &[]),
                Vcpus::Arranged(arranged) => properties(
                    Some(&arranged.count.to_string()),
                    &[
                        ("sockets", text(arranged.sockets)),
                        ("dies", text(arranged.dies)),
                        ("cores", text(arranged.cores)),
                        ("threads", text(arranged.threads)),
                    ],
                ),
            },
        ));
    }
    memory(guest, &mut wishes);
    for thread in &guest.iothreads {
        wishes.push(Wish::One {
            option: "object".to_owned(),
            by: vec![pair("id", thread)],
            wanted: properties(Some("iothread"), &[("id", Some(thread.clone()))]),
        });
    }
    guest.drives.iter().for_each(|drive| self::drive(drive, &mut wishes));
    guest.vhost_user_scsi.iter().for_each(|device| vhost_user(device, &mut wishes));
    wishes.extend(crate::guests::options(&guest.arguments).into_iter().filter_map(argument));
    wishes
}

fn memory(guest: &Guest, wishes: &mut Vec<Wish>) {
    let size = guest.memory.as_ref().map(Scalar::text);
    if let Some(size) = &size {
        let wanted = properties(Some(size), &[]);
        wishes.push(Wish::Only { option: "m".to_owned(), wanted });
    }
    let Some(shared) = &guest.shared_memory else { return };
    let share = if shared.share { "on" } else { "off" };
    wishes.push(Wish::One {
        option: "object".to_owned(),
        by: vec![pair("id", &shared.id)],
        wanted: properties(
            Some("memory-backend-file"),
            &[
                ("id", Some(shared.id.clone())),
                ("size", size),
                ("mem-path", Some(shared.path.clone())),
                ("share", Some(share.to_owned())),
            ],
        ),
    });
    wishes.push(Wish::One {
        option: "numa".to_owned(),
        by: vec![pair("memdev", &shared.id)],
        wanted: properties(Some("node"), &[("memdev", Some(shared.id.clone()))]),
    });
}

fn drive(drive: &Drive, wishes: &mut Vec<Wish>) {
    let cache = drive.cache.map(|cache| cache.text().to_owned());
    if drive.blockdev {
        let image = drive.file.strip_prefix("rbd:").unwrap_or(&drive.file);
        let (pool, image) = image.split_once('/').unwrap_or(("", image));
        let direct = drive.cache.map(|cache| if cache.is_direct() { "on" } else { "off" }.to_owned());
        wishes.push(Wish::Gone { option: "drive".to_owned(), id: Some(drive.id.clone()) });
        wishes.push(Wish::One {
            option: "blockdev".to_owned(),
            by: vec![pair("node-name", &drive.id)],
            wanted: properties(
                Some("rbd"),
                &[
                    ("node-name", Some(drive.id.clone())),
                    ("cache.direct", direct),
                    ("pool", Some(pool.to_owned())),
                    ("image", Some(image.to_owned())),
                ],
            ),
        });
    } else {
        wishes.push(Wish::One {
            option: "drive".to_owned(),
            by: vec![pair("id", &drive.id), pair("file", &drive.file)],
            wanted: properties(
                None,
                &[
                    ("format", drive.format.clone()),
                    ("id", Some(drive.id.clone())),
                    ("if", drive.device.as_ref().map(|_| "none".to_owned())),
                    ("cache", cache),
                    ("aio", drive.aio.map(|aio| aio.text().to_owned())),
                    ("file", Some(drive.file.clone())),
                ],
            ),
        });
    }
    let Some(device) = &drive.device else { return };
    let mut by = vec![pair("drive", &drive.id)];
    by.extend(device.id.as_ref().map(|id| pair("id", id)));
    wishes.push(Wish::One {
        option: "device".to_owned(),
        by,
        wanted: properties(
            Some(&device.driver),
            &[
                ("iothread", device.iothread.clone()),
                ("drive", Some(drive.id.clone())),
                ("id", device.id.clone()),
                ("num-queues", device.queues.map(|queues| queues.to_string())),
                ("bootindex", device.bootindex.map(|index| index.to_string())),
            ],
        ),
    });
}

fn vhost_user(device: &VhostUserScsi, wishes: &mut Vec<Wish>) {
    wishes.push(Wish::One {
        option: "chardev".to_owned(),
        by: vec![pair("id", &device.id), pair("path", &device.socket)],
        wanted: properties(
            Some("socket"),
            &[("id", Some(device.id.clone())), ("path", Some(device.socket.clone()))],
        ),
    });
    wishes.push(Wish::One {
        option: "device".to_owned(),
        by: vec![pair("chardev", &device.id)],
        wanted: properties(
            Some("vhost-user-scsi-pci"),
            &[
                ("chardev", Some(device.id.clone())),
                ("num_queues", device.queues.map(|queues| queues.to_string())),
                ("bootindex", device.bootindex.map(|index| index.to_string())),
            ],
        ),
    });
}

/// A further option: told by its name where its value has one.
fn argument((option, value): (String, Option<String>)) -> Option<Wish> {
    let option = own_name(&option)?;
    let Some(value) = value else { return Some(Wish::Text { option, value: None }) };
    let wanted = Properties::parse(&value);
    let by = ["id", "node-name"].into_iter().find_map(|name| Some(pair(name, wanted.get(name)?)));
    Some(match by {
        Some(by) => Wish::One { option, by: vec![by], wanted },
        None => Wish::Text { option, value: Some(value) },
    })
}

/// Whether two values of a property mean the same: sizes by their bytes, switches by their words.
pub(super) fn alike(option: &str, name: &str, one: &str, two: &str) -> bool {
    let size = |text: &str| {
        let plain = !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit());
        parse_size(&if plain && option == "m" { format!("{text}M") } else { text.to_owned() }).ok()
    };
    let switch = |text: &str| match text {
        "on" | "yes" | "true" => Some(true),
        "off" | "no" | "false" => Some(false),
        _ => None,
    };
    if one == two {
        return true;
    }
    let is_size = (option == "m" && name.is_empty()) || name == "size";
    (is_size && size(one).is_some() && size(one) == size(two))
        || (switch(one).is_some() && switch(one) == switch(two))
}
