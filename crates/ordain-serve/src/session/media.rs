//! Pictures of items: files of one folder, by the names that the data give them.

use crate::problem::{Problem, Result};
use ordain::Error;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

/// Endings of pictures that browsers show. Drawings of the kind SVG are not among them, because they can hold scripts.
const KINDS: [(&str, &str); 6] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("bmp", "image/bmp"),
];
/// The most bytes of a picture.
const MOST: u64 = 64 << 20;

/// The kind of a picture, by the ending of its name.
pub(super) fn kind(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    KINDS.iter().find(|(own, _)| own.eq_ignore_ascii_case(ending)).map(|(_, kind)| *kind)
}

/// The address of a picture: what is no letter, digit or one of `-_.~/` is written as `%XX`.
pub(super) fn address(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    "/media/".chars().map(String::from).chain(name.bytes().map(one)).collect()
}

/// A folder of pictures, and the names by which data speak of them.
pub(crate) struct Media {
    folder: PathBuf,
    names: HashSet<String>,
}

impl Media {
    /// Opens a folder. The second value has words about names that are not there.
    pub(super) fn open<'a>(
        folder: &Path,
        names: impl Iterator<Item = &'a str>,
    ) -> ordain::Result<(Self, Option<String>)> {
        let whole =
            folder.canonicalize().map_err(|reason| Error::Io { path: folder.into(), action: "open", reason })?;
        if !whole.is_dir() {
            return Err(Error::Content {
                path: folder.into(),
                expected: "a folder of pictures".into(),
                found: "a file".into(),
            });
        }
        let media = Self { folder: whole, names: names.map(str::to_owned).collect() };
        let mut gone: Vec<&String> = media.names.iter().filter(|name| media.place(name).is_err()).collect();
        gone.sort();
        let words = gone.first().map(|first| {
            let (some, folder) = (gone.len(), folder.display());
            format!("warning: {some} of {} pictures are not in {folder}, such as {first}", media.names.len())
        });
        Ok((media, words))
    }

    /// The file of a picture: one that the data name, below the folder whatever links say.
    fn place(&self, name: &str) -> Result<PathBuf> {
        let none = || Problem::not_found("there is no such picture");
        let path = Path::new(name);
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || name.contains(['\\', '\0']) || !self.names.contains(name) {
            return Err(none());
        }
        let whole = self.folder.join(path).canonicalize().map_err(|_| none())?;
        if whole.starts_with(&self.folder) && whole.is_file() { Ok(whole) } else { Err(none()) }
    }

    /// A picture and its kind.
    pub(super) fn read(&self, name: &str) -> Result<(&'static str, Vec<u8>)> {
        let none = || Problem::not_found("there is no such picture");
        let kind = kind(name).ok_or_else(none)?;
        let place = self.place(name)?;
        if std::fs::metadata(&place).map_err(|_| none())?.len() > MOST {
            return Err(Problem::unfit(format!("expected a picture of at most {MOST} bytes")));
        }
        Ok((kind, std::fs::read(place).map_err(|_| none())?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn only_pictures_of_the_data_below_the_folder_are_read() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("pictures");
        std::fs::create_dir_all(folder.join("sea")).unwrap();
        std::fs::write(folder.join("sea/a b.png"), b"picture").unwrap();
        std::fs::write(folder.join("other.png"), b"other").unwrap();
        std::fs::write(folder.join("script.svg"), b"<svg/>").unwrap();
        std::fs::write(place.path().join("secret.png"), b"secret").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(place.path().join("secret.png"), folder.join("link.png")).unwrap();
        let absolute = place.path().join("secret.png").display().to_string();
        let names = [
            "sea/a b.png",
            "../secret.png",
            "sea/../../secret.png",
            "link.png",
            "script.svg",
            "gone.png",
            "sea",
            "./other.png",
            "..\\secret.png",
            "a\0.png",
            "",
            &absolute,
        ];
        let (media, words) = Media::open(&folder, names.into_iter()).unwrap();
        assert!(words.unwrap().contains("of 12 pictures are not in"));
        assert_eq!(media.read("sea/a b.png").unwrap(), ("image/png", b"picture".to_vec()));
        for name in &names[1..] {
            assert_eq!(media.read(name).unwrap_err().status, axum::http::StatusCode::NOT_FOUND, "{name:?}");
        }
        // what the data do not name is not there
        assert!(media.read("other.png").is_err());
        assert!(Media::open(&folder.join("other.png"), names.into_iter()).is_err());
        assert!(Media::open(&folder.join("none"), names.into_iter()).is_err());
        assert_eq!(address("sea/a b?ü.png"), "/media/sea/a%20b%3F%C3%BC.png");
    }
}
