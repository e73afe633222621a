//! Arrays of NumPy, number by number.

/// The header of an array: a Python dictionary of three entries, each once, and nothing else.
fn entries(header: &str) -> Option<(String, bool, Vec<usize>)> {
    let inside = header.trim_ascii().strip_prefix('{')?.strip_suffix('}')?;
    let (mut kind, mut fortran, mut shape) = (None, None, None);
    let mut rest = inside.trim_ascii();
    while !rest.is_empty() {
        let (key, after) = rest.strip_prefix('\'')?.split_once('\'')?;
        let after = after.trim_ascii_start().strip_prefix(':')?.trim_ascii_start();
        let end = match key {
            "descr" => after.strip_prefix('\'')?.find('\'')? + 2,
            "shape" => after.find(')')? + 1,
            _ => after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len()),
        };
        let (value, after) = after.split_at(end);
        let fresh = match key {
            "descr" => kind.replace(value.trim_matches('\'').to_owned()).is_none(),
            "fortran_order" if value == "True" || value == "False" => fortran.replace(value == "True").is_none(),
            "shape" => {
                let sizes = value.strip_prefix('(')?.strip_suffix(')')?;
                let sizes = sizes.strip_suffix(',').unwrap_or(sizes).split(',').map(|n| n.trim_ascii().parse().ok());
                shape.replace(sizes.collect::<Option<Vec<usize>>>()?).is_none()
            }
            _ => false,
        };
        let after = after.trim_ascii_start();
        rest = if after.is_empty() { "" } else { after.strip_prefix(',')?.trim_ascii_start() };
        fresh.then_some(())?;
    }
    Some((kind?, fortran?, shape?))
}

/// The sizes and the numbers of a file, the last index running fastest.
pub(crate) fn array(bytes: &[u8]) -> Option<(Vec<usize>, Vec<f32>)> {
    let rest = bytes.strip_prefix(b"\x93NUMPY")?;
    let (length, start) = match rest.get(..2)? {
        [1, 0] => (u16::from_le_bytes(rest.get(2..4)?.try_into().ok()?) as usize, 4usize),
        [2 | 3, 0] => (u32::from_le_bytes(rest.get(2..6)?.try_into().ok()?) as usize, 6),
        _ => return None,
    };
    let header = std::str::from_utf8(rest.get(start..start.checked_add(length)?)?).ok()?;
    let (kind, fortran, shape) = entries(header)?;
    let data = &rest[start + length..];
    let width = match kind.as_str() {
        "<f4" | ">f4" => 4,
        "<f8" | ">f8" => 8,
        _ => return None,
    };
    let count = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n))?;
    if count.checked_mul(width)? != data.len() {
        return None;
    }
    let number = |at: usize| {
        let mut own = data[at * width..(at + 1) * width].to_vec();
        if kind.starts_with('>') {
            own.reverse();
        }
        match width {
            4 => f32::from_le_bytes([own[0], own[1], own[2], own[3]]),
            _ => f64::from_le_bytes(<[u8; 8]>::try_from(own).expect("eight bytes")) as f32,
        }
    };
    // the indices of each entry, and where it stands by them
    let (mut values, mut index) = (vec![], vec![0; shape.len()]);
    for _ in 0..count {
        let step = |place: usize, k: usize| place * shape[k] + index[k];
        let order = 0..shape.len();
        values.push(number(if fortran { order.rev().fold(0, step) } else { order.fold(0, step) }));
        for k in (0..shape.len()).rev() {
            index[k] += 1;
            if index[k] < shape[k] {
                break;
            }
            index[k] = 0;
        }
    }
    Some((shape, values))
}
