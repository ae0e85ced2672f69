//! As much of a BPF assembler as one small program needs, so that an AF_XDP port asks for no
//! compiler (RFC 9669 is the instruction set).

/// One instruction: opcode, registers, offset, immediate.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Instruction {
    opcode: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// A place in the program to jump to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label(usize);

/// A register, r0 to r10.
pub(super) type Register = u8;

/// Width of a load or store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Width {
    U8 = 0x10,
    U16 = 0x08,
    U32 = 0x00,
    U64 = 0x18,
}

/// Condition of a jump on unsigned values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum When {
    Equal = 0x10,
    Above = 0x20,
    NotEqual = 0x50,
}

/// A pseudo source register: the immediate of a 64-bit load is a map's descriptor.
const MAP_FD: u8 = 1;

/// A program in the making. Jumps go to labels, which are bound afterwards.
#[derive(Default)]
pub(super) struct Assembler {
    code: Vec<Instruction>,
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    /// A label to be bound later.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }
    /// Binds a label to what comes next.
    pub fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }
    fn emit(&mut self, opcode: u8, to: Register, from: Register, offset: i16, immediate: i32) {
        self.code.push(Instruction { opcode, registers: from << 4 | to, offset, immediate });
    }
    /// to = value
    pub fn set(&mut self, to: Register, value: i32) {
        self.emit(0xb7, to, 0, 0, value);
    }
    /// to = from
    pub fn copy(&mut self, to: Register, from: Register) {
        self.emit(0xbf, to, from, 0, 0);
    }
    /// to += value
    pub fn add(&mut self, to: Register, value: i32) {
        self.emit(0x07, to, 0, 0, value);
    }
    /// to += from
    pub fn add_register(&mut self, to: Register, from: Register) {
        self.emit(0x0f, to, from, 0, 0);
    }
    /// to -= from
    pub fn subtract(&mut self, to: Register, from: Register) {
        self.emit(0x1f, to, from, 0, 0);
    }
    /// to &= value, sign-extended
    pub fn and(&mut self, to: Register, value: i32) {
        self.emit(0x57, to, 0, 0, value);
    }
    /// to >>= bits, filled with zeroes
    pub fn shift_right(&mut self, to: Register, bits: i32) {
        self.emit(0x77, to, 0, 0, bits);
    }
    /// to ^= value, sign-extended
    pub fn xor(&mut self, to: Register, value: i32) {
        self.emit(0xa7, to, 0, 0, value);
    }
    /// to = *(from + offset)
    pub fn load(&mut self, width: Width, to: Register, from: Register, offset: i16) {
        self.emit(0x61 | width as u8, to, from, offset, 0);
    }
    /// *(to + offset) = from
    pub fn store(&mut self, width: Width, to: Register, offset: i16, from: Register) {
        self.emit(0x63 | width as u8, to, from, offset, 0);
    }
    /// to = the map behind a descriptor
    pub fn load_map(&mut self, to: Register, map_fd: i32) {
        self.emit(0x18, to, MAP_FD, 0, map_fd);
        self.emit(0, 0, 0, 0, 0);
    }
    /// r0 = helper(r1, ...); r1 to r5 are lost
    pub fn call(&mut self, helper: i32) {
        self.emit(0x85, 0, 0, 0, helper);
    }
    /// return r0
    pub fn exit(&mut self) {
        self.emit(0x95, 0, 0, 0, 0);
    }
    /// goto label
    pub fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.emit(0x05, 0, 0, 0, 0);
    }
    /// if left (when) value goto label
    pub fn jump_if(&mut self, left: Register, when: When, value: i32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.emit(0x05 | when as u8, left, 0, 0, value);
    }
    /// if left > right goto label
    pub fn jump_if_above(&mut self, left: Register, right: Register, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.emit(0x0d | When::Above as u8, left, right, 0, 0);
    }
    /// The program.
    ///
    /// # Panics
    /// If a label that is jumped to was never bound.
    pub fn finish(mut self) -> Vec<Instruction> {
        for (at, label) in self.jumps {
            let target = self.labels[label.0].expect("a bound label");
            self.code[at].offset = (target as i64 - at as i64 - 1) as i16;
        }
        self.code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9669 section 3 and 4 give the opcodes: 0xb7 is a 64-bit move of an immediate, 0x15
    /// "jump if equal" to an immediate, 0x95 exit; jump offsets count from the next instruction.
    #[test]
    fn jumps_reach_their_labels() {
        let mut assembler = Assembler::default();
        let end = assembler.label();
        assembler.set(0, 2);
        assembler.jump_if(0, When::Equal, 2, end);
        assembler.set(0, 1);
        assembler.bind(end);
        assembler.exit();
        let code = assembler.finish();
        let opcodes: Vec<u8> = code.iter().map(|instruction| instruction.opcode).collect();
        assert_eq!(opcodes, [0xb7, 0x15, 0xb7, 0x95]);
        assert_eq!(code[1].offset, 1);
    }
}
