// Rounds the weights of a model to 16 bits (IEEE's float16, which the runtime widens again) and writes them, compressed,
// with their card for the page. Vectors and single numbers (norms, biases, the temperature) stay as they are: they are
// few, and each touches everything.
// Usage: node narrow.mjs MODEL.safetensors FOLDER
import {createHash} from 'node:crypto';
import {readFileSync, writeFileSync} from 'node:fs';
import {basename, join} from 'node:path';
import {gzipSync} from 'node:zlib';

const [weights, folder] = process.argv.slice(2);
const name = basename(weights, '.safetensors');

// The bits of the float16 nearest to a float32, ties to the even one.
function half(bits) {
  const sign = bits >>> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest >= 0x477ff000) throw new Error(`${weights}: a number is too large for 16 bits`);  // or is none
  // Below 2^-14 there is no leading 1 and the steps are of 2^-24.
  const exponent = rest >>> 23, shift = exponent < 113 ? 126 - exponent : 13;
  if (shift > 24) return sign;
  const whole = exponent < 113 ? rest & 0x7fffff | 0x800000 : rest - (112 << 23);
  const low = whole & (1 << shift) - 1, tie = 1 << shift - 1;
  return sign | (whole >>> shift) + (low > tie || low === tie && (whole >>> shift & 1) ? 1 : 0);
}

const file = readFileSync(weights), start = 8 + Number(file.readBigUInt64LE(0));
const header = JSON.parse(file.toString('utf8', 8, start));
const parts = [];
let end = 0;
for (const [tensor, entry] of Object.entries(header).filter(([key]) => key !== '__metadata__')
  .sort(([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0])) {
  let bytes = file.subarray(start + entry.data_offsets[0], start + entry.data_offsets[1]);
  if (entry.dtype === 'F32' && entry.shape.length > 1) {
    const narrow = Buffer.alloc(bytes.length / 2);
    for (let k = 0; k < narrow.length; k += 2) narrow.writeUInt16LE(half(bytes.readUInt32LE(2 * k)), k);
    header[tensor] = {...entry, dtype: 'F16'};
    bytes = narrow;
  }
  header[tensor].data_offsets = [end, end += bytes.length];
  parts.push(bytes);
}
const text = Buffer.from(JSON.stringify(header)), length = Buffer.alloc(8);
length.writeBigUInt64LE(BigInt(text.length));
const narrowed = Buffer.concat([length, text, ...parts]);
const card = JSON.parse(readFileSync(weights.replace(/safetensors$/, 'json'), 'utf8'));
card.weights.sha256 = createHash('sha256').update(narrowed).digest('hex');
writeFileSync(join(folder, name + '.safetensors.gz'), gzipSync(narrowed, {level: 9}));
writeFileSync(join(folder, name + '.json'), JSON.stringify(card));
