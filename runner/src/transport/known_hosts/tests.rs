//! The traps that other readers fell into, one table.
use super::*;
use std::time::Duration;

const A: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
const B: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA6rWI3G1sz07DnfFlrouTcysQlj2P+jpNSOEWD9OJ3X";
const ECDSA: &str = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBHwf2HMM5TRXvo2SQJjsNkiDD5KqiiNjrGVv3UUh+mMT5RHxiRtOnlqvjhQtBq0VpmpCV/PwUdhOig4vkbqAcEc=";

fn key(text: &str) -> PublicKey {
    PublicKey::from_openssh(text).unwrap()
}

fn judge(text: &str, host: &str, port: u16) -> (Verdict, usize) {
    let mut known = KnownHosts::default();
    known.add_text("kh", text);
    (known.judge(host, port, &key(A)), known.warnings().len())
}

#[test]
fn every_form_of_a_line() {
    let hashed = "|1|F1E1KeoE/eEWhi10WpGv4OdiO6Y=|3988QV0VE8wmZL7suNrYQLITLCg=";
    let changed = |line: usize| Verdict::Changed { known_at: format!("kh:{line}") };
    let revoked = |line: usize| Verdict::Revoked { known_at: format!("kh:{line}") };
    let cases: Vec<(String, &str, u16, Verdict, usize)> = vec![
        (format!("h1 {A}"), "h1", 22, Verdict::Known, 0),
        (format!("h1 {A}"), "H1", 22, Verdict::Known, 0),
        (format!("H1 {A}"), "h1", 22, Verdict::Known, 0),
        (format!("h1\t{A}"), "h1", 22, Verdict::Known, 0),
        (format!("  h1  {A}  a comment here"), "h1", 22, Verdict::Known, 0),
        (format!("h1 {A}\r"), "h1", 22, Verdict::Known, 0),
        (format!("# h1 {A}\n\nh2 {A}"), "h1", 22, Verdict::Unknown, 0),
        (format!("h0,h1,10.0.0.1 {A}"), "10.0.0.1", 22, Verdict::Known, 0),
        (format!("h1,!h1 {A}"), "h1", 22, Verdict::Unknown, 0),
        (format!("!h1,h* {A}"), "h1", 22, Verdict::Unknown, 0),
        (format!("!h1,h* {A}"), "h2", 22, Verdict::Known, 0),
        (format!("*.lab,h? {A}"), "a.lab", 22, Verdict::Known, 0),
        (format!("[h1]:2222 {A}"), "h1", 2222, Verdict::Known, 0),
        (format!("[h1]:2222 {A}"), "h1", 22, Verdict::Unknown, 0),
        (format!("[h1]:2222 {A}"), "h1", 2223, Verdict::Unknown, 0),
        (format!("[h*]:2222 {A}"), "h1", 2222, Verdict::Known, 0),
        (format!("h1 {A}"), "h1", 2222, Verdict::Known, 0),
        (format!("h1 {B}"), "h1", 2222, Verdict::Unknown, 0),
        (format!("h1 {B}"), "h1", 22, changed(1), 0),
        (format!("# c\n\nh1 {ECDSA}\nh1 {B}"), "h1", 22, changed(4), 0),
        (format!("h1 {ECDSA}"), "h1", 22, changed(1), 0),
        (format!("h1 {B}\nh1 {A}"), "h1", 22, Verdict::Known, 0),
        (format!("@revoked h1 {A}"), "h1", 22, revoked(1), 0),
        (format!("h1 {A}\n@revoked * {A}"), "h1", 22, revoked(2), 0),
        (format!("@revoked h2 {A}\nh1 {A}"), "h1", 22, Verdict::Known, 0),
        (format!("@cert-authority h1 {A}"), "h1", 22, Verdict::Unknown, 0),
        (format!("@strange h1 {A}"), "h1", 22, Verdict::Unknown, 1),
        ("h1 ssh-ed25519 AAAA!!!!".to_owned(), "h1", 22, Verdict::Unknown, 1),
        (format!("h1\nh1 ssh-ed25519\nh1 {A}"), "h1", 22, Verdict::Known, 2),
        (format!("h1 ssh-rsa {}", &A[12..]), "h1", 22, Verdict::Unknown, 1),
        (format!("{hashed} {A}"), "192.168.1.61", 22, Verdict::Known, 0),
        (format!("{hashed} {A}"), "192.168.1.62", 22, Verdict::Unknown, 0),
        (format!("|1|xx {A}\n|2|a|b {A}\n|1|*|* {A}"), "h1", 22, Verdict::Unknown, 3),
        (format!("h1,, {A}"), "h1", 22, Verdict::Known, 0),
        (format!("h1 {A}"), "", 22, Verdict::Unknown, 0),
    ];
    for (text, host, port, wanted, warnings) in cases {
        assert_eq!(judge(&text, host, port), (wanted, warnings), "{host}:{port} in {text:?}");
    }
}

#[test]
fn damage_is_named_with_its_place() {
    let mut known = KnownHosts::default();
    known.add_text("/etc/ssh/ssh_known_hosts", "# fine\nh1 nonsense");
    let [warning] = known.warnings() else { panic!("{:?}", known.warnings()) };
    assert!(warning.starts_with("/etc/ssh/ssh_known_hosts:2: "), "{warning}");
}

#[test]
fn known_types_come_first() {
    let mut known = KnownHosts::default();
    known.add_text("kh", &format!("h1 {ECDSA}\n@cert-authority *.lab {A}\nh2 {A}"));
    assert_eq!(known.algorithms("h1", 22), [key(ECDSA).algorithm()]);
    assert!(known.has_authority("x.lab", 2222) && !known.has_authority("h1", 22));
}

#[test]
fn appended_lines_stand_on_their_own() {
    let folder = std::env::temp_dir().join(format!("tunerun-kh-{}", std::process::id()));
    let path = folder.join("deep/known_hosts");
    append(&path, "h1", &key(&format!("{A} comment"))).unwrap();
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap().trim_end()).unwrap();
    append(&path, "[h2]:2222", &key(B)).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("h1 {A}\n[h2]:2222 {B}\n"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn host_certificates_are_for_their_hosts_and_times() {
    use russh::keys::ssh_key::certificate::Builder;
    use russh::keys::{PrivateKey, key::safe_rng};
    let mut rng = safe_rng();
    let authority = PrivateKey::random(&mut rng, Algorithm::Ed25519).unwrap();
    let host = PrivateKey::random(&mut rng, Algorithm::Ed25519).unwrap();
    let make = |kind: CertType, principals: &[&str], critical: bool| {
        let mut builder =
            Builder::new_with_random_nonce(&mut safe_rng(), host.public_key(), 1000, 2000).unwrap();
        builder.cert_type(kind).unwrap();
        builder.key_id("host").unwrap();
        for name in principals {
            builder.valid_principal(*name).unwrap();
        }
        if principals.is_empty() {
            builder.all_principals_valid().unwrap();
        }
        if critical {
            builder.critical_option("force-command", "x").unwrap();
        }
        builder.sign(&authority).unwrap()
    };
    let trusted = format!("@cert-authority *.lab {}", authority.public_key().to_openssh().unwrap());
    let judge = |text: &str, name: &str, certificate: &Certificate, seconds: u64| {
        let mut known = KnownHosts::default();
        known.add_text("kh", text);
        match known.judge_certificate(name, 2222, certificate, UNIX_EPOCH + Duration::from_secs(seconds)) {
            Verdict::BadCertificate { why } => why,
            other => format!("{other:?}"),
        }
    };
    let good = make(CertType::Host, &["h1.lab"], false);
    assert_eq!(judge(&trusted, "H1.lab", &good, 1500), "Known");
    assert_eq!(judge(&trusted, "h2.lab", &good, 1500), "it is for h1.lab, not for h2.lab");
    assert!(judge(&trusted, "h1.lab", &good, 2000).starts_with("it has expired"));
    assert!(judge(&trusted, "h1.lab", &good, 999).starts_with("it is not valid yet"));
    assert_eq!(judge(&trusted, "h1.other", &good, 1500), "Unknown");
    assert_eq!(judge(&trusted, "x.lab", &make(CertType::Host, &["*.lab"], false), 1500), "Known");
    assert_eq!(judge(&trusted, "x.lab", &make(CertType::Host, &[], false), 1500), "Known");
    assert_eq!(
        judge(&trusted, "h1.lab", &make(CertType::User, &["h1.lab"], false), 1500),
        "it is a user's certificate"
    );
    assert!(
        judge(&trusted, "h1.lab", &make(CertType::Host, &["h1.lab"], true), 1500).contains("critical option")
    );
    let revoked = format!("{trusted}\n@revoked * {}", authority.public_key().to_openssh().unwrap());
    assert!(judge(&revoked, "h1.lab", &good, 1500).contains("kh:2"));
    let revoked = format!("{trusted}\n@revoked * {}", host.public_key().to_openssh().unwrap());
    assert!(judge(&revoked, "h1.lab", &good, 1500).contains("kh:2"));
    let plain = format!("[h1.lab]:2222 {}", host.public_key().to_openssh().unwrap());
    assert_eq!(
        judge(&plain, "h1.lab", &good, 1),
        "Known",
        "an unknown authority's certificate counts as its key"
    );
}
