import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { makeFolder, removeFolders } from '../package/plugin-folder.fixture.ts';
import { readEntries, readTarball } from './read-tarball.ts';
import { tarball as archive, tarEntry as entry } from './tarball.fixture.ts';

async function refusal(tarball: Uint8Array): Promise<string> {
  return readTarball(tarball).then(
    () => 'nothing',
    (error: unknown) => (error as Error).message,
  );
}

describe('an archive', () => {
  afterEach(removeFolders);

  for (const format of ['pax', 'gnu', 'oldgnu']) {
    it(`is read when tar wrote it in the format ${format}, with long names and empty files`, async () => {
      const long = `package/${'a'.repeat(90)}/${'b'.repeat(120)}.js`;
      const inLong = `package/${'c'.repeat(120)}/short.js`;
      const folder = await makeFolder({
        [long]: 'long',
        [inLong]: 'inside',
        'package/empty': '',
        'package/x.bin': new Uint8Array(2000).fill(7),
      });
      execFileSync('tar', [`--format=${format}`, '--sort=name', '-czf', 'a.tgz', 'package'], { cwd: folder });
      const files = await readTarball(await readFile(join(folder, 'a.tgz')));
      expect(new Map(files.map(({ path, bytes }) => [path, bytes.length]))).to.deep.equal(
        new Map([
          [long, 4],
          [inLong, 6],
          ['package/empty', 0],
          ['package/x.bin', 2000],
        ]),
      );
    });
  }

  for (const path of ['../x', 'package/../../x', '/etc/x', 'package\\..\\x']) {
    it(`is refused when it has the entry ${path}`, async () => {
      expect(await refusal(archive(entry(path, { content: 'x' })))).to.equal(
        `${JSON.stringify(path)}: is not a path inside the archive`,
      );
    });
  }

  it('is refused when a pax header has a path that leads out of the archive', async () => {
    const pax = entry('pax', { type: 'x', content: '22 path=package/../..\n' });
    expect(await refusal(archive(pax, entry('package/x')))).to.equal(
      '"package/../..": is not a path inside the archive',
    );
  });

  it('is refused when the path in a GNU header leads out of the archive or is longer than 4,096 bytes', async () => {
    const long = entry('././@LongLink', { type: 'L', content: 'package/../../x\0' });
    expect(await refusal(archive(long, entry('package/x')))).to.equal(
      '"package/../../x": is not a path inside the archive',
    );
    const longer = entry('././@LongLink', { type: 'L', content: `package/${'x'.repeat(5000)}\0` });
    expect(await refusal(archive(longer, entry('package/x')))).to.match(/^"package\/x+…": is longer than 4096 bytes$/);
  });

  for (const [type, what] of [
    ['1', 'hard link'],
    ['2', 'symbolic link'],
    ['3', 'device'],
  ] as const) {
    it(`is refused when it has a ${what}`, async () => {
      expect(await refusal(archive(entry('package/x', { type })))).to.equal(
        'package/x: is not a file, but a link or a device',
      );
    });
  }

  it('is refused when an extended header is longer than 64 KiB', async () => {
    const records = '8 a=bcd\n'.repeat(10_000);
    for (const type of ['x', 'L'])
      expect(await refusal(archive(entry('pax', { type, content: records }), entry('package/x')))).to.equal(
        'pax: an extended header is longer than 65536 bytes',
      );
  });

  it('is read in at least 20 turns of the event loop when it has 2,000 entries', async () => {
    const bytes = gunzipSync(archive(...Array.from({ length: 2000 }, (_, at) => entry(`package/${at}`))));
    let [turns, isRead] = [0, false];
    const count = (): void => {
      turns += 1;
      if (!isRead) setImmediate(count);
    };
    setImmediate(count);
    expect(await readEntries(bytes)).to.have.length(2000);
    isRead = true;
    expect(turns).to.be.at.least(20);
  });

  it('is refused when it is damaged, cut off or empty', async () => {
    const whole = entry('package/x', { content: 'x'.repeat(600) });
    expect(await refusal(gzipSync(whole.subarray(0, 800)))).to.equal('package/x: is cut off');
    whole[0] = 0x71;
    expect(await refusal(archive(whole))).to.equal('qackage/x: a damaged header');
    expect(await refusal(archive())).to.equal('is empty');
    expect(await refusal(Buffer.from('no gzip'))).to.include('incorrect header check');
  });
});
