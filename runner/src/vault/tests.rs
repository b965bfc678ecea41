//! Tests against files that `ansible-vault` wrote.
use std::path::Path;

use super::*;

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/vault").join(name);
    std::fs::read_to_string(path).expect("test data")
}

fn password(id: &str, secret: &str) -> Password {
    Password::new(id, secret.as_bytes())
}

#[test]
fn opens_what_ansible_wrote() {
    let plain = data("plain.yml");
    let first = decrypt(&data("v11.yml"), &[password("default", "correct horse\n")]);
    assert_eq!(first.map(|plain| plain.to_vec()), Ok(plain.clone().into_bytes()));
    let several = [password("default", "correct horse"), password("dev", "dev-secret")];
    let second = decrypt(&data("v12.yml"), &several);
    assert_eq!(second.map(|plain| plain.to_vec()), Ok(plain.into_bytes()));
}

#[test]
fn opens_an_inline_value_as_it_stands() {
    let text = data("inline.yml");
    let value = text.split_once("!vault |\n").expect("an inline value").1;
    assert!(value.starts_with(' ') && is_vault(value));
    let plain = decrypt(value, &[password("other", "x"), password("renamed", "dev-secret")]);
    assert_eq!(plain.map(|plain| plain.to_vec()), Ok(b"s3cret value".to_vec()));
}

#[test]
fn tells_a_wrong_password_from_a_damaged_text() {
    let text = data("v12.yml");
    let wrong = decrypt(&text, &[password("dev", "dev-secre")]);
    let tried = vec!["dev".to_owned()];
    assert_eq!(wrong, Err(Refusal::WrongPassword { id: Some("dev".to_owned()), tried }));
    assert_eq!(decrypt(&text, &[]), Err(Refusal::NoPassword { id: Some("dev".to_owned()) }));
    let right = [password("dev", "dev-secret")];
    for cut in [1, 2, 3, 40, 81, 200] {
        let short = &text[..text.trim_end().len() - cut];
        assert!(matches!(decrypt(short, &right), Err(Refusal::Damaged { .. })), "cut by {cut}");
    }
    assert!(matches!(decrypt(&text.replace("1.2", "1.3"), &right), Err(Refusal::Unknown { .. })));
    assert!(matches!(decrypt("osd: 1", &right), Err(Refusal::NotVault)));
    assert!(matches!(decrypt("$ANSIBLE_VAULT;1.1;AES256\n", &right), Err(Refusal::Damaged { .. })));
    assert!(matches!(decrypt("$ANSIBLE_VAULT;1.1;AES256\nzz", &right), Err(Refusal::Damaged { .. })));
}

#[test]
fn a_changed_ciphertext_is_never_opened() {
    let text = encrypt(b"x", &password("default", "p"), &[7; 32]);
    let lines: Vec<&str> = text.lines().collect();
    // The last digit of the body is the second digit of a hexadecimal digit of the ciphertext.
    let mut last = lines[lines.len() - 1].to_owned();
    let digit = if last.pop() == Some('1') { '2' } else { '1' };
    last.push(digit);
    let changed = format!("{}\n{last}", lines[..lines.len() - 1].join("\n"));
    assert!(decrypt(&changed, &[password("default", "p")]).is_err());
}

#[test]
fn what_it_writes_it_reads() {
    for plain in [&b""[..], b"1234567890123456", "zw\u{f6}lf".as_bytes(), &[0, 255, 10, 13]] {
        for id in ["default", "prod"] {
            let text = encrypt(plain, &password(id, "p w"), &[3; 32]);
            assert!(text.lines().all(|line| line.len() <= 80) && text.ends_with('\n'));
            assert_eq!(text.starts_with("$ANSIBLE_VAULT;1.2;AES256;prod\n"), id == "prod");
            let read = decrypt(&text, &[password(id, "p w")]);
            assert_eq!(read.map(|plain| plain.to_vec()), Ok(plain.to_vec()));
        }
    }
}

#[test]
fn passwords_are_not_shown() {
    assert_eq!(format!("{:?}", password("dev", "hunter2")), "Password(dev)");
}
