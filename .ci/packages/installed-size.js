// Measures how much `npm install --omit=optional homeostat` writes: the files of our packages as they are packed, and
// the files in node_modules of all packages that ours need. Only the bytes of the files count, not what the file system
// adds for folders and unused ends of blocks.
import { readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { LockedPackages } from './locked-packages.js';

const maxInstalledBytes = 25_000_000;

/** Dependencies smaller than this are shown as one sum. */
const shownBytes = 500_000;

const kinds = [
  ['source maps with the sources', /\.js\.map$/],
  ['declarations', /\.d\.ts$/],
  ['compiled code', /^(dist|bin)\/.*\.js$/],
];

function bytesOf(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const isNested = ({ parentPath }) => `/${relative(folder, parentPath)}/`.includes('/node_modules/');
  return files.filter((file) => !isNested(file)).reduce((sum, file) => sum + sizeOf(file), 0);
}

function sizeOf({ parentPath, name }) {
  return statSync(join(parentPath, name)).size;
}

function add(sums, name, bytes) {
  sums.set(name, (sums.get(name) ?? 0) + bytes);
}

/**
 * Returns the sizes of our files by their kind, and of the dependencies, the largest first. `packedFiles` are the files
 * of all our packages, each with its path and size.
 */
function measureInstalled(root, packedFiles) {
  const sums = new Map();
  for (const { path, size } of packedFiles) {
    const [name = 'console, Swagger UI and all else'] = kinds.find(([, pattern]) => pattern.test(path)) ?? [];
    add(sums, `our ${name}`, size);
  }
  const paths = [...new LockedPackages(root).neededBy('plugins/host', false)];
  for (const path of paths.filter((each) => each.includes('node_modules/'))) {
    const bytes = bytesOf(join(root, path));
    add(sums, bytes < shownBytes ? 'smaller dependencies' : path.split('node_modules/').at(-1), bytes);
  }
  return [...sums].map(([name, bytes]) => ({ name, bytes })).sort((a, b) => b.bytes - a.bytes);
}

/**
 * Prints the sizes of our files, by type, and of the dependencies, and the sum of all. Returns true when the sum is
 * within the limit.
 */
export function reportInstalled(root, packedFiles) {
  const parts = measureInstalled(root, packedFiles);
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const inMb = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  const isWithin = total <= maxInstalledBytes;
  console.log(
    `installed without optional packages: ${inMb(total)} of at most ${inMb(maxInstalledBytes)}${isWithin ? '' : ', TOO LARGE'}`,
  );
  for (const { name, bytes } of parts) console.log(`  ${inMb(bytes).padStart(8)}  ${name}`);
  return isWithin;
}
