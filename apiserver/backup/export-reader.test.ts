import { expect } from 'chai';

import { bytes, create, scanned, written } from '../store/store-operations.fixture.ts';
import { ExportFileError, maxLineBytes } from './export-format.ts';
import { ExportReader } from './export-reader.ts';
import { epoch, exampleObjects, exported, openEmptyStore, readWhole } from './export-text.fixture.ts';
import { LineCheck } from './line-check.ts';

function failureOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    expect(error).to.be.instanceOf(ExportFileError);
    return (error as Error).message;
  }
  return 'nothing is wrong';
}

/**
 * Returns the text of an export with any records and correct check sums, as a malicious or faulty program could write
 * it.
 */
function sealed(...records: object[]): Uint8Array {
  const check = new LineCheck();
  return bytes(records.map((record) => check.seal(record)).join(''));
}

const manifest = { homeostat: 'export', format: 1, revision: 9, epoch, createdAt: '1970-01-01T00:00:00.000Z' };
const noObjects = { objects: 0, sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' };
const object = (key: string): object => ({ key, revision: 3, data: '{}' });

describe('an export', () => {
  it('is read with all keys, revisions and bytes in order, whatever the size of the pieces in which it is read [slow]', async () => {
    const store = await openEmptyStore();
    await written(store, ...exampleObjects());
    const rows = await scanned(store);
    const data = bytes(await exported(store));
    await store.close();
    for (const pieceBytes of [data.byteLength, 64 * 1024, 4099]) {
      const { objects, proved } = readWhole(data, pieceBytes);
      expect(objects.map(({ key, revision }) => [key, revision])).to.deep.equal(
        rows.map(({ key, revision }) => [key, revision]),
      );
      for (const [at, row] of rows.entries()) expect(Buffer.compare(objects[at]!.data, row.data)).to.equal(0);
      expect(proved).to.include({ revision: 16, epoch, createdAt: '1970-01-01T00:00:00.000Z', objects: 16 });
    }
  });

  it('can be read one byte at a time', async () => {
    const store = await openEmptyStore();
    await written(store, create('a', '{}'), create('b', 'ß'));
    const data = bytes(await exported(store));
    await store.close();
    expect(readWhole(data, 1).proved.objects).to.equal(2);
  });

  it('has the same digest for the same objects, even if their revisions and the epoch differ', async () => {
    const [first, second] = [await openEmptyStore(), await openEmptyStore()];
    await written(first, create('a', '1'), create('b', '2'));
    await second.startHistory(5_000_000);
    await written(second, create('b', '2'));
    await written(second, create('a', '1'));
    const [one, two] = [readWhole(bytes(await exported(first))), readWhole(bytes(await exported(second)))];
    expect(two.proved.sha256).to.equal(one.proved.sha256);
    expect(two.proved.revision).to.not.equal(one.proved.revision);
    await written(first, create('c', ''));
    expect(readWhole(bytes(await exported(first))).proved.sha256).to.not.equal(one.proved.sha256);
    await first.close();
    await second.close();
  });
});

describe('a damaged export', () => {
  let data: Uint8Array;
  let lines: readonly string[];
  before(async () => {
    const store = await openEmptyStore();
    await written(store, ...Array.from({ length: 8 }, (_, at) => create(`n${at}`, `{"n":"${at} é"}`)));
    data = bytes(await exported(store));
    lines = new TextDecoder().decode(data).split('\n').slice(0, -1);
    await store.close();
  });

  const joined = (some: readonly string[]): Uint8Array => bytes(some.map((line) => `${line}\n`).join(''));

  for (const [bits, tier] of [
    [[4], ''],
    [[1, 128], ' [slow]'],
  ] as const)
    it(`is refused when a bit of any byte is changed, with a message that names the changed line or the next line${tier}`, () => {
      let line = 1;
      for (let at = 0; at < data.byteLength; at += 1) {
        for (const bit of bits) {
          const flipped = data.slice();
          flipped[at]! ^= bit;
          const found = Number(/^line (\d+): /.exec(failureOf(() => readWhole(flipped)))?.[1]);
          expect(found, `byte ${at}, bit ${bit}`).to.be.within(line, line + 1);
        }
        if (data[at] === 10) line += 1;
      }
      expect(line).to.equal(lines.length + 1);
    });

  it('is refused when a line is missing, repeated or out of order', () => {
    for (const [at] of lines.entries()) {
      const dropped = failureOf(() => readWhole(joined(lines.toSpliced(at, 1))));
      if (at === 0) expect(dropped).to.equal('line 1: this is not the first line of an export of homeostat');
      else if (at < lines.length - 1) {
        expect(dropped).to.equal(`line ${at + 1}: this line is damaged, or the previous line is missing`);
      } else expect(dropped).to.match(/^line 9: the file is cut off/);
      expect(failureOf(() => readWhole(joined(lines.toSpliced(at, 0, lines[at]!))))).to.match(
        new RegExp(`^line ${at + 2}: this line (is damaged|follows the last line)`),
      );
    }
    const swapped = lines.with(3, lines[4]!).with(4, lines[3]!);
    expect(failureOf(() => readWhole(joined(swapped)))).to.match(/^line 4: this line is damaged/);
  });

  it('is refused when it is truncated anywhere', () => {
    for (let end = 0; end < data.byteLength; end += 1) {
      expect(failureOf(() => readWhole(data.subarray(0, end)))).to.match(
        end === 0 ? /^the file is empty/ : /^line \d+: the file is cut off/,
      );
    }
  });

  it('is refused when its last line is followed by any text', () => {
    expect(failureOf(() => readWhole(joined([...lines, ''])))).to.equal(
      'line 11: this line follows the last line of the export',
    );
    expect(failureOf(() => readWhole(bytes(`${lines.join('\n')}\nx`)))).to.match(/^line 11: /);
  });
});

describe('an export that another program has written', () => {
  for (const [name, data, message] of [
    ['another format', sealed({ ...manifest, format: 2 }), 'line 1: the format is 2; this program knows 1'],
    ['no format', sealed({ homeostat: 'export' }), 'line 1: the format is undefined; this program knows 1'],
    ['another file', bytes('SQLite format 3\0\n'), 'line 1: this is not the first line of an export of homeostat'],
    ['a JSON scalar', bytes('null\n'), 'line 1: this is not the first line of an export of homeostat'],
    ['no revision', sealed({ ...manifest, revision: 1.5 }), 'line 1: revision must be a whole number'],
    ['no epoch', sealed({ ...manifest, epoch: 7 }), 'line 1: epoch and createdAt must be texts'],
    ['a key of a file', sealed(manifest, object('/etc/passwd')), 'line 2: key must be the key of an object'],
    [
      'a key of too many parts',
      sealed(manifest, object('/registry/a/b/c/d/e')),
      'line 2: key must be the key of an object',
    ],
    ['a key with dots', sealed(manifest, object('/registry/a.b/c/../d')), 'line 2: key must be the key of an object'],
    ['no key', sealed(manifest, { revision: 1, data: '' }), 'line 2: key must be the key of an object'],
    [
      'keys out of order',
      sealed(manifest, object('/registry/a.b/c/e'), object('/registry/a.b/c/d')),
      'line 3: key must come after the key of the line before',
    ],
    [
      'a revision that is not a number',
      sealed(manifest, { key: '/registry/a.b/c/d', revision: '3', data: '' }),
      'line 2: revision must be a whole number',
    ],
    [
      'no data',
      sealed(manifest, { key: '/registry/a.b/c/d', revision: 3 }),
      'line 2: either data or base64 must be a text',
    ],
    [
      'a wrong number',
      sealed(manifest, { ...noObjects, objects: 1 }),
      'line 2: the summary counts 1 objects, but the export has 0',
    ],
    ['a wrong digest', sealed(manifest, { objects: 0, sha256: 'no' }), 'line 2: sha256 does not match the objects'],
  ] as const) {
    it(`is refused: ${name}`, () => {
      expect(failureOf(() => readWhole(data))).to.equal(message);
    });
  }

  it('is read when its records are correct', () => {
    expect(readWhole(sealed(manifest, noObjects)).proved).to.deep.include({ revision: 9, ...noObjects });
  });

  it('is refused when a line exceeds 8 MiB, before the line fills the memory', () => {
    const reader = new ExportReader();
    const piece = new Uint8Array(1024 * 1024).fill(97);
    for (let sent = 0; sent < maxLineBytes; sent += piece.byteLength) reader.push(piece);
    expect(failureOf(() => reader.push(piece))).to.equal('line 1: this line is longer than 8388608 bytes');
  });
});
