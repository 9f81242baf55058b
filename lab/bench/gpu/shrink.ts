// Shrinks a CUDA library: keeps the machine code for one kind of card and replaces the rest with zeros, which compress well.
import { LabError } from '../../flags.js';

const FATBIN = 0xba55ed50; // the magic number at the start of a bundle of machine code
const MACHINE_CODE = 2; // the kind of an entry with machine code; kind 1 is source that a driver compiles

/** @param library an ELF file, which is changed in place. @throws {LabError} if it has no code for this compute capability */
export function keepCapability(library: Buffer, capability: number): void {
  const { offset, size } = sectionOf(library, '.nv_fatbin');
  const others = new Set<number>();
  let kept = 0;
  for (let at = offset; at < offset + size; ) {
    if (library.readUInt32LE(at) !== FATBIN) {
      at += 8; // skips padding
      continue;
    }
    const end = at + library.readUInt16LE(at + 6) + Number(library.readBigUInt64LE(at + 8));
    let entry = at + library.readUInt16LE(at + 6);
    while (entry < end) {
      const body = entry + library.readUInt32LE(entry + 4);
      const length = Number(library.readBigUInt64LE(entry + 8));
      const own = library.readUInt32LE(entry + 28);
      if (library.readUInt16LE(entry) === MACHINE_CODE && own === capability) kept += length;
      else {
        library.fill(0, body, body + length);
        others.add(own);
      }
      entry = body + length;
    }
    at = end;
  }
  if (kept > 0) return;
  const known = [...others].sort((a, b) => a - b).join(', ');
  throw new LabError(`the CUDA provider has no code for compute capability ${capability}; it has ${known}`);
}

/** Finds the position of a section in a 64-bit ELF file. */
function sectionOf(file: Buffer, name: string): { offset: number; size: number } {
  const [table, width, count] = [Number(file.readBigUInt64LE(40)), file.readUInt16LE(58), file.readUInt16LE(60)];
  const header = (index: number) => {
    const at = table + index * width;
    return {
      name: file.readUInt32LE(at),
      offset: Number(file.readBigUInt64LE(at + 24)),
      size: Number(file.readBigUInt64LE(at + 32)),
    };
  };
  const names = header(file.readUInt16LE(62)).offset;
  for (let i = 0; i < count; i++) {
    const section = header(i);
    const start = names + section.name;
    if (file.toString('latin1', start, file.indexOf(0, start)) === name) return section;
  }
  throw new LabError(`the CUDA provider has no section ${name}`);
}
