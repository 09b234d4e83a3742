import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { createPrivateKey } from 'node:crypto';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AuthorityFolder } from './authority-folder.ts';
import { certificateNames } from './certificate-names.ts';
import { GivenCertificate } from './given-certificate.ts';
import { readAuthority } from './read-authority.ts';
import { removeTemporaryFolders, temporaryFolder } from './temporary-folder.fixture.ts';
import type { ServerCertificate } from './tls-options.ts';

describe('a certificate that is given', () => {
  let certFile: string;
  let keyFile: string;
  let made: ServerCertificate;

  beforeEach(async () => {
    const folder = await temporaryFolder();
    made = await new AuthorityFolder({
      directory: join(folder, 'tls'),
      names: certificateNames([]),
      clock: new FakeClock(),
    }).load();
    [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
    await writeFile(certFile, made.cert);
    await writeFile(keyFile, made.key, { mode: 0o600 });
  });

  after(removeTemporaryFolders);

  async function load(): Promise<ServerCertificate> {
    return new GivenCertificate({ certFile, keyFile }).load();
  }

  async function problem(): Promise<string> {
    return load().then(
      () => 'none',
      (error: unknown) => (error as Error).message,
    );
  }

  it('is used unchanged; its CA certificate is undefined when the certificate file contains none', async () => {
    expect(await load()).to.deep.equal({ ...made, ca: undefined });
    expect(await readAuthority({ certFile, keyFile })).to.equal(undefined);
  });

  it('is loaded together with the CA certificate, when the certificate file ends with this CA certificate', async () => {
    await writeFile(certFile, `${made.cert}\n${made.ca!}`);
    expect((await load()).ca).to.equal(made.ca);
    expect(await readAuthority({ certFile, keyFile })).to.equal(made.ca);
  });

  it('is read again at each load', async () => {
    await load();
    await writeFile(certFile, `${made.cert}\n${made.ca!}`);
    expect((await load()).cert).to.equal(`${made.cert}\n${made.ca!}`);
  });

  it('is refused when its key file is open to other users than the owner; if root owns the file, its group may read it', async () => {
    for (const mode of [0o604, 0o644, 0o660]) {
      await chmod(keyFile, mode);
      expect(await problem()).to.include(`${keyFile}: users other than its owner have access to this private key`);
    }
    await chmod(keyFile, 0o640);
    const isRoot = process.getuid?.() === 0;
    expect(await problem()).to.match(isRoot ? /^none$/ : /users other than its owner/);
  });

  it('is refused with the name of the file when a file is absent or damaged, or when the key is not that of the certificate', async () => {
    await writeFile(certFile, 'no certificate');
    expect(await problem()).to.equal(`${certFile}: holds no certificate in PEM`);
    await writeFile(certFile, made.ca!);
    expect(await problem()).to.equal(`${keyFile}: is not the key of the certificate in ${certFile}`);
    const locked = createPrivateKey(made.key).export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'a secret',
    });
    await writeFile(certFile, made.cert);
    await writeFile(keyFile, locked);
    expect(await problem()).to.equal(`${keyFile}: holds no private key without a passphrase in PEM that can be read`);
    await writeFile(keyFile, Buffer.alloc(1024 * 1024 + 1));
    expect(await problem()).to.equal(`${keyFile}: is larger than 1048576 bytes`);
    keyFile = join(keyFile, 'none');
    expect(await problem()).to.include(keyFile);
    expect(await readFile(certFile, 'utf8')).to.equal(made.cert);
  });
});
