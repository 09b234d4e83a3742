import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { X509Certificate } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AuthorityFolder } from './authority-folder.ts';
import { certificateNames } from './certificate-names.ts';
import { readAuthority } from './read-authority.ts';
import { removeTemporaryFolders, temporaryFolder } from './temporary-folder.fixture.ts';
import type { ServerCertificate } from './tls-options.ts';

const dayMs = 86_400_000;

describe('the folder of an authority', () => {
  let clock: FakeClock;
  let directory: string;

  beforeEach(async () => {
    clock = new FakeClock();
    directory = join(await temporaryFolder(), 'data', 'tls');
  });

  after(removeTemporaryFolders);

  async function load(...hostNames: readonly string[]): Promise<ServerCertificate> {
    return new AuthorityFolder({ directory, names: certificateNames(hostNames), clock }).load();
  }

  async function modeOf(path: string): Promise<number> {
    return (await stat(path)).mode & 0o777;
  }

  async function problem(): Promise<string> {
    return load().then(
      () => 'none',
      (error: unknown) => (error as Error).message,
    );
  }

  it('is filled by the first start: an authority for ten years, a server certificate for one year, and keys that only the owner can read', async () => {
    const { cert, ca, expiresMs } = await load('home.example.com');
    const [server, root] = [new X509Certificate(cert), new X509Certificate(ca!)];
    expect(server.checkIssued(root) && server.verify(root.publicKey)).to.equal(true);
    expect(server.subjectAltName).to.include('DNS:localhost').and.include('DNS:home.example.com');
    expect([server.ca, root.ca]).to.deep.equal([false, true]);
    expect(server.publicKey.asymmetricKeyDetails).to.deep.equal({ namedCurve: 'prime256v1' });
    expect(expiresMs).to.equal(clock.now() + 365 * dayMs);
    expect(Date.parse(root.validTo)).to.equal(clock.now() + 3650 * dayMs);
    expect(Date.parse(server.validFrom)).to.be.lessThan(clock.now());
    expect((await readdir(directory)).sort()).to.deep.equal(['authority.pem', 'ca.crt', 'server.pem']);
    expect(await modeOf(directory)).to.equal(0o700);
    for (const file of ['authority.pem', 'server.pem']) expect(await modeOf(join(directory, file))).to.equal(0o600);
    expect(await readFile(join(directory, 'ca.crt'), 'utf8')).to.equal(ca);
    expect(await readAuthority({ directory })).to.equal(ca);
  });

  it('gives the next start the same certificates', async () => {
    const first = await load();
    await clock.advance(100 * dayMs);
    expect(await load()).to.deep.equal(first);
  });

  it('has only one authority when several servers start at the same time', async () => {
    const all = await Promise.all([load(), load(), load(), load()]);
    expect(new Set(all.map(({ ca }) => ca)).size).to.equal(1);
    const root = new X509Certificate(all[0].ca!);
    for (const { cert } of all) expect(new X509Certificate(cert).verify(root.publicKey)).to.equal(true);
  });

  it('gets a new server certificate, with another key, when the old certificate is valid for at most sixty more days', async () => {
    const first = await load();
    await clock.advance(305 * dayMs - 1000);
    expect((await load()).cert).to.equal(first.cert);
    await clock.advance(1000);
    const second = await load();
    expect(second.ca).to.equal(first.ca);
    expect(second.key).to.not.equal(first.key);
    expect(second.expiresMs).to.equal(clock.now() + 365 * dayMs);
    expect(await load()).to.deep.equal(second);
  });

  it('gets a new server certificate when a name is added or removed', async () => {
    const first = await load('a.example.com');
    const second = await load('a.example.com', 'fd00::7');
    expect(new X509Certificate(second.cert).checkIP('fd00::7')).to.equal('fd00::7');
    const third = await load();
    expect(new X509Certificate(third.cert).checkHost('a.example.com')).to.equal(undefined);
    expect([second.ca, third.ca]).to.deep.equal([first.ca, first.ca]);
  });

  it('gets no certificate that outlives the authority, and keeps a certificate that ends with the authority', async () => {
    await load();
    await clock.advance(3640 * dayMs);
    const last = await load();
    expect(last.expiresMs).to.equal(clock.now() + 10 * dayMs);
    expect((await load()).cert).to.equal(last.cert);
    await clock.advance(10 * dayMs);
    expect(await problem()).to.match(/authority\.pem: the authority has expired .* write every kubeconfig again$/);
  });

  it('is completed when the first start was interrupted', async () => {
    const { ca } = await load();
    await rm(join(directory, 'ca.crt'));
    await rm(join(directory, 'server.pem'));
    expect((await load()).ca).to.equal(ca);
  });

  for (const left of ['ca.crt', 'server.pem']) {
    it(`gets no new authority when authority.pem is missing but ${left} exists, because clients trust the missing authority`, async () => {
      await load();
      for (const file of ['authority.pem', 'ca.crt', 'server.pem']) if (file !== left) await rm(join(directory, file));
      expect(await problem()).to.match(/authority\.pem: is missing, and clients trust the authority that it held/);
    });
  }

  it('is refused when ca.crt differs from the certificate in authority.pem', async () => {
    await load();
    const mine = directory;
    directory = join(await temporaryFolder(), 'other');
    await load();
    await writeFile(join(mine, 'authority.pem'), await readFile(join(directory, 'authority.pem'), 'utf8'));
    directory = mine;
    expect(await problem()).to.match(/ca\.crt: differs from the certificate in .*authority\.pem/);
    await rm(join(mine, 'ca.crt'));
    const { cert, ca } = await load();
    expect(new X509Certificate(cert).verify(new X509Certificate(ca!).publicKey)).to.equal(true);
  });

  for (const file of ['authority.pem', 'server.pem']) {
    it(`is refused when others can read or write ${file}, with a message that says what to do`, async () => {
      await load();
      for (const mode of [0o640, 0o604, 0o620]) {
        await chmod(join(directory, file), mode);
        expect(await problem()).to.equal(
          `${join(directory, file)}: users other than its owner have access to this private key (mode ${mode.toString(8).padStart(4, '0')}): chmod 600 it`,
        );
      }
    });

    it(`is refused when ${file} is damaged, with a message that names the file and quotes nothing of its content`, async () => {
      await load();
      const path = join(directory, file);
      const whole = await readFile(path, 'utf8');
      const end = whole.indexOf('-----END PRIVATE');
      for (const [text, what] of [
        ['', 'holds no certificate in PEM'],
        [whole.slice(0, 60), 'holds no certificate in PEM'],
        [
          `${whole.slice(0, 60)}${whole.slice(end)}`,
          'holds no private key without a passphrase in PEM that can be read',
        ],
        [whole.replace(/(CERTIFICATE-----\n)..../, '$1AAAA'), 'holds no certificate in PEM that can be read'],
      ] as const) {
        await writeFile(path, text);
        expect(await problem()).to.equal(`${path}: ${what}`);
      }
      await rm(path);
      await mkdir(path);
      expect(await problem()).to.match(/(authority|server)\.pem: /);
    });
  }

  it('is refused when a key does not belong to its certificate', async () => {
    await load();
    const path = join(directory, 'authority.pem');
    const authority = await readFile(path, 'utf8');
    const server = await readFile(join(directory, 'server.pem'), 'utf8');
    const certificate = authority.slice(authority.indexOf('-----BEGIN CERTIFICATE'));
    await writeFile(path, server.slice(0, server.indexOf('-----BEGIN CERTIFICATE')) + certificate);
    expect(await problem()).to.equal(`${path}: is not the key of the certificate in ${path}`);
    await writeFile(path, server);
    expect(await problem()).to.equal(`${path}: contains no certificate authority`);
  });

  it('is refused when others can write to it', async () => {
    await load();
    await chmod(directory, 0o770);
    expect(await problem()).to.include('users other than its owner can write to this folder of private keys');
  });
});
