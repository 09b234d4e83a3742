import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { makeFolder, removeFolders } from './plugin-folder.fixture.ts';
import { readTarball } from './read-tarball.ts';

/** An entry as tar writes it, whatever its name. */
function entry(path: string, { type = '0', content = '' } = {}): Buffer {
  const header = Buffer.alloc(512);
  header.write(path, 0);
  header.write(content.length.toString(8).padStart(11, '0'), 124);
  header.write(type, 156);
  header.fill(' ', 148, 156);
  header.write(
    header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0') + '\0',
    148,
  );
  const body = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  body.write(content);
  return Buffer.concat([header, body]);
}

const archive = (...entries: readonly Buffer[]): Buffer => gzipSync(Buffer.concat([...entries, Buffer.alloc(1024)]));

async function refusal(tarball: Uint8Array): Promise<string> {
  return readTarball(tarball).then(
    () => 'nothing',
    (error: unknown) => (error as Error).message,
  );
}

describe('an archive', () => {
  afterEach(removeFolders);

  it('is read as tar wrote it, long names and empty files included', async () => {
    const long = `package/${'a'.repeat(90)}/${'b'.repeat(120)}.js`;
    const folder = await makeFolder({
      [long]: 'long',
      'package/empty': '',
      'package/x.bin': new Uint8Array(2000).fill(7),
    });
    execFileSync('tar', ['--format=pax', '-czf', 'a.tgz', 'package'], { cwd: folder });
    const files = await readTarball(await readFile(join(folder, 'a.tgz')));
    expect(new Map(files.map(({ path, bytes }) => [path, bytes.length]))).to.deep.equal(
      new Map([
        [long, 4],
        ['package/empty', 0],
        ['package/x.bin', 2000],
      ]),
    );
  });

  for (const path of ['../x', 'package/../../x', '/etc/x', 'package\\..\\x']) {
    it(`is refused with the entry ${path}`, async () => {
      expect(await refusal(archive(entry(path, { content: 'x' })))).to.equal(
        `${JSON.stringify(path)}: leads out of the archive`,
      );
    });
  }

  it('is refused with a long name that leads out', async () => {
    const pax = entry('pax', { type: 'x', content: '22 path=package/../..\n' });
    expect(await refusal(archive(pax, entry('package/x')))).to.equal('"package/../..": leads out of the archive');
  });

  for (const [type, what] of [
    ['1', 'hard link'],
    ['2', 'symbolic link'],
    ['3', 'device'],
  ] as const) {
    it(`is refused with a ${what}`, async () => {
      expect(await refusal(archive(entry('package/x', { type })))).to.equal(
        'package/x: is no file, but a link or a device',
      );
    });
  }

  it('is refused when it is damaged, cut off or empty', async () => {
    const whole = entry('package/x', { content: 'x'.repeat(600) });
    expect(await refusal(gzipSync(whole.subarray(0, 800)))).to.equal('package/x: is cut off');
    whole[0] = 0x71;
    expect(await refusal(archive(whole))).to.equal('qackage/x: a damaged header');
    expect(await refusal(archive())).to.equal('is empty');
    expect(await refusal(Buffer.from('no gzip'))).to.include('incorrect header check');
  });
});
