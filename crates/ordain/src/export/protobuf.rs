//! As much of the wire format of Protocol Buffers as a writer of ONNX needs.

/// A message under way: fields in the order in which they are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut x: u64) {
        while x >= 0x80 {
            self.0.push(x as u8 | 0x80);
            x >>= 7;
        }
        self.0.push(x as u8);
    }

    fn key(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    /// A whole number.
    pub(super) fn int(mut self, field: u32, x: i64) -> Self {
        self.key(field, 0);
        self.varint(x as u64);
        self
    }

    /// Bytes, a text or another message.
    pub(super) fn bytes(mut self, field: u32, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        self.key(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Several of them, one after another.
    pub(super) fn all<B: AsRef<[u8]>>(self, field: u32, list: impl IntoIterator<Item = B>) -> Self {
        list.into_iter().fold(self, |message, one| message.bytes(field, one))
    }

    /// Numbers of single precision, packed.
    pub(super) fn floats(self, field: u32, list: &[f32]) -> Self {
        let bytes: Vec<u8> = list.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.bytes(field, bytes)
    }

    /// Whole numbers, packed.
    pub(super) fn ints(self, field: u32, list: impl IntoIterator<Item = i64>) -> Self {
        let mut packed = Self::default();
        list.into_iter().for_each(|x| packed.varint(x as u64));
        self.bytes(field, packed)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the description of the format: 150 as a varint, a text, packed numbers; and a negative number in ten bytes.
    #[test]
    fn fields_are_as_described() {
        assert_eq!(Message::default().int(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().bytes(2, "testing").into_bytes(), b"\x12\x07testing");
        assert_eq!(
            Message::default().ints(6, [3, 270, 86942]).into_bytes(),
            [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]
        );
        assert_eq!(Message::default().int(1, -1).into_bytes().len(), 11);
    }
}
