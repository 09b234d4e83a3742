import { silentLogger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import type { Vault } from '../vault/vault.ts';
import { Administrator } from './administrator.ts';
import { BearerToken } from './bearer-token.ts';
import type { AdministratorFile } from './administrator.ts';

/** Returns a vault in memory, which replicas in a test share. */
function memoryVault(): Vault {
  const values = new Map<string, unknown>();
  return {
    get: (name) => values.get(name),
    entries: () => values,
    put: (name, value, { ifAbsent = false } = {}) => {
      if (ifAbsent && values.has(name)) return Promise.resolve(false);
      values.set(name, value);
      return Promise.resolve(true);
    },
    delete: (name) => {
      values.delete(name);
      return Promise.resolve();
    },
    onChange: () => () => undefined,
    reach: () => Promise.resolve(),
  };
}

class FileInMemory implements AdministratorFile {
  readonly path = '/srv/admin.kubeconfig';
  token: string | undefined;

  constructor(token?: string) {
    this.token = token;
  }

  read(): string | undefined {
    return this.token;
  }

  write(token: string): Promise<void> {
    this.token = token;
    return Promise.resolve();
  }
}

describe('the administrator', () => {
  let vault: Vault;

  beforeEach(() => {
    vault = memoryVault();
  });

  async function open(file: AdministratorFile, isShared = false, logger = silentLogger): Promise<Administrator> {
    const administrator = new Administrator({ file, vault, isShared, logger });
    await administrator.open();
    return administrator;
  }

  const isIn = (administrator: Administrator, { token = '' }: FileInMemory): boolean =>
    administrator.ofToken(new BearerToken(token))?.username === 'admin';

  it('gets a token of 256 random bits, of which the vault stores only the digest', async () => {
    const file = new FileInMemory();
    const administrator = await open(file);
    expect(file.token).to.match(/^[\w-]{43}$/);
    expect(isIn(administrator, file)).to.equal(true);
    expect(administrator.ofToken(new BearerToken('another-token-here'))).to.equal(undefined);
    expect(JSON.stringify([...vault.entries('')])).to.not.include(file.token);
  });

  it('gets a new token when the file with the token is deleted, and the previous token becomes invalid', async () => {
    const before = new FileInMemory();
    await open(before);
    const after = new FileInMemory();
    const administrator = await open(after);
    expect([isIn(administrator, before), isIn(administrator, after)]).to.deep.equal([false, true]);
  });

  it('gets another token when someone has written it into the file: all replicas then accept only this token', async () => {
    const one = new FileInMemory();
    const first = await open(one, true);
    const two = new FileInMemory('another-token-of-mine');
    const second = await open(two, true);
    for (const replica of [first, second])
      expect([isIn(replica, one), isIn(replica, two)]).to.deep.equal([false, true]);
  });

  it('has the same token on a replica that has no token file, and this replica creates no token', async () => {
    const one = new FileInMemory();
    await open(one, true);
    const two = new FileInMemory();
    const second = await open(two, true);
    expect([two.token, isIn(second, one)]).to.deep.equal([undefined, true]);
  });

  it('is accepted with a new token that an operator writes to a missing token file, as a warning advises', async () => {
    await open(new FileInMemory(), true);
    const warnings: string[] = [];
    const file = new FileInMemory();
    await open(file, true, { ...silentLogger, warn: (_fields, message) => void warnings.push(message) });
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.include('copy the file from the machine that created it').and.include('another token');
    await file.write('another-token-of-mine');
    expect(isIn(await open(file, true), file)).to.equal(true);
  });

  it('has one token when several replicas start at the same time', async () => {
    const files = [new FileInMemory(), new FileInMemory(), new FileInMemory()];
    const replicas = await Promise.all(files.map(async (file) => open(file, true)));
    const [made, ...others] = files.filter(({ token }) => token !== undefined);
    expect(others).to.deep.equal([]);
    for (const replica of replicas) expect(isIn(replica, made ?? new FileInMemory())).to.equal(true);
  });

  it('cannot have a former token again: a file with a former token is refused', async () => {
    const old = new FileInMemory();
    await open(old, true);
    await open(new FileInMemory('another-token-of-mine'), true);
    const error = await open(old, true).catch((thrown: unknown) => thrown);
    expect((error as Error).message).to.include('holds a token that was replaced: copy the file');
    expect((error as Error).message).to.not.include(old.token);
  });

  it('leaves no digest of its new token in the vault when the token cannot be written to the file', async () => {
    const file = new FileInMemory();
    file.write = () => Promise.reject(new Error('the disk is full'));
    const error = await open(file).catch((thrown: unknown) => thrown);
    expect((error as Error).message).to.equal('the disk is full');
    expect(vault.get('administrator/token')).to.equal(undefined);
  });
});
