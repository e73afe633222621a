//! Pictures of items: those of the data, below one folder, and no other file.

use super::{fitted, scenes, session};
use axum::http::StatusCode;
use ordain::method::CStar;
use ordain_serve::Access;

#[test]
fn pictures_of_the_data_are_shown_and_no_other_file_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut set = scenes(folder.path());
    set.columns.roles.ignore = vec!["photo".into(), "note".into()];
    fitted(&CStar::independent(), &set, &at("model"));
    std::fs::create_dir_all(at("media/deep")).unwrap();
    std::fs::write(at("media/deep/a b.png"), "a picture").unwrap();
    std::fs::write(at("media/other.png"), "not of the data").unwrap();
    std::fs::write(at("secret.png"), "secret").unwrap();
    let text = std::fs::read_to_string(at("items.csv")).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    let names = ["deep/a b.png", "../secret.png", "%2e%2e/secret.png", "plain words"];
    let shown: String =
        rows.lines().enumerate().map(|(i, row)| format!("{},<b>bold</b>,{row}\n", names[i % names.len()])).collect();
    std::fs::write(at("shown.csv"), format!("photo,note,{head}\n{shown}")).unwrap();
    let mut server = session(folder.path(), |config| {
        let own = config.labelling.as_mut().unwrap();
        (own.items, own.media) = (at("shown.csv"), Some(at("media")));
        own.show = vec!["photo".into(), "note".into()];
        config.access = Access::Tokens(vec![(None, "0123456789".into())]);
    });
    assert_eq!(server.get("/media/deep/a%20b.png").status, StatusCode::UNAUTHORIZED);
    server.headers.push(("authorization", "Bearer 0123456789".into()));
    let show = |item: usize| server.get(&format!("/api/v1/items/{item}")).well()["show"].clone();
    assert_eq!(show(1)["image"], "/media/deep/a%20b.png");
    assert_eq!((&show(1)["alt"], &show(1)["text"]), (&"deep/a b.png".into(), &"<b>bold</b>".into()));
    assert_eq!(show(3)["image"], "/media/%252e%252e/secret.png");
    // a cell that is no picture is a field beside the other
    assert!(show(4)["image"].is_null());
    assert_eq!(show(4)["fields"][0]["value"], "plain words");
    let reply = server.get("/media/deep/a%20b.png");
    assert_eq!((reply.status, &*reply.text), (StatusCode::OK, "a picture"));
    assert_eq!(
        (&reply.headers["content-type"], &reply.headers["x-content-type-options"]),
        (&"image/png".parse().unwrap(), &"nosniff".parse().unwrap())
    );
    for path in [
        "other.png",
        "../secret.png",
        "..%2fsecret.png",
        "%2e%2e/secret.png",
        "%2e%2e%2fsecret.png",
        "%252e%252e/secret.png",
        "deep/../../secret.png",
        "deep/..%2f..%2fsecret.png",
        "..%5csecret.png",
        "%00",
        "deep",
        "deep/",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "plain%20words",
    ] {
        let reply = server.get(&format!("/media/{path}"));
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}: {}", reply.text);
    }
}
