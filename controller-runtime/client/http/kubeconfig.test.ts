import { expect } from 'chai';
import { dump } from 'js-yaml';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readKubeconfig } from './kubeconfig.ts';
import type { KubeconfigAccess, KubeconfigOptions } from './kubeconfig.ts';

const ca = '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n';
const url = 'https://home.example.com:8700';

describe('a kubeconfig', () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'homeostat-kubeconfig-'));
    writeFileSync(join(folder, 'ca.crt'), ca);
    writeFileSync(join(folder, 'token'), 'of-a-file\n');
  });

  after(() => rmSync(folder, { recursive: true }));

  function read(text: string, options?: KubeconfigOptions): KubeconfigAccess {
    const path = join(folder, 'config');
    writeFileSync(path, text);
    return readKubeconfig(path, options);
  }

  /** Returns a kubeconfig with two contexts; `home` is the current one. */
  function config(cluster: object, user: object = {}): string {
    return dump({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'away', cluster: { server: 'https://away.example.com' } },
        { name: 'house', cluster: { server: url, ...cluster } },
      ],
      users: [{ name: 'me', user }],
      contexts: [
        { name: 'home', context: { cluster: 'house', user: 'me' } },
        { name: 'away', context: { cluster: 'away' } },
      ],
      'current-context': 'home',
    });
  }

  it('a kubeconfig provides the address of a server, its certificate authority, and the credentials', () => {
    const data = Buffer.from(ca).toString('base64');
    expect(read(config({ 'certificate-authority-data': data }, { token: 'secret' }))).to.deep.equal({
      url,
      ca,
      token: 'secret',
    });
    expect(read(config({ 'certificate-authority': 'ca.crt' }, { tokenFile: 'token' }))).to.deep.equal({
      url,
      ca,
      token: 'of-a-file',
    });
    expect(read(config({}))).to.deep.equal({ url });
  });

  it('a kubeconfig provides a client certificate and its key, as text or from files beside it', () => {
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    writeFileSync(join(folder, 'me.crt'), 'a certificate');
    writeFileSync(join(folder, 'me.key'), 'a key');
    const files = { 'client-certificate': 'me.crt', 'client-key': 'me.key' };
    expect(read(config({}, files))).to.deep.equal({ url, cert: 'a certificate', key: 'a key' });
    const data = { 'client-certificate-data': base64('another'), 'client-key-data': base64('its key') };
    expect(read(config({}, { ...files, ...data }))).to.deep.equal({ url, cert: 'another', key: 'its key' });
  });

  it('a credential from a program is refused, with an error that names an alternative', () => {
    expect(() =>
      read(config({}, { exec: { command: 'log-in', apiVersion: 'client.authentication.k8s.io/v1' } })),
    ).to.throw('config: exec: credential plugins are not supported: use a token, tokenFile or a client certificate');
  });

  it('one of several contexts can be chosen by its name', () => {
    expect(read(config({}), { context: 'away' })).to.deep.equal({ url: 'https://away.example.com' });
    expect(() => read(config({}), { context: 'none' })).to.throw('config: contexts: has no context named "none"');
  });

  it('the verification of an HTTPS server cannot be turned off', () => {
    const skip = { 'insecure-skip-tls-verify': true };
    expect(() => read(config(skip))).to.throw('config: insecure-skip-tls-verify: is not supported');
    expect(read(config({ ...skip, server: 'http://127.0.0.1:8700' }))).to.deep.equal({ url: 'http://127.0.0.1:8700' });
  });

  for (const [field, text] of [
    ['exec', () => config({}, { exec: { command: 'log-in' } })],
    ['auth-provider', () => config({}, { 'auth-provider': { name: 'oidc' } })],
    ['client-key', () => config({}, { 'client-certificate-data': 'abc' })],
    ['client-certificate', () => config({}, { 'client-key-data': 'abc' })],
    ['username', () => config({}, { username: 'me', password: 'secret' })],
    ['tls-server-name', () => config({ 'tls-server-name': 'other' })],
    ['token', () => config({}, { token: 7 })],
    ['server', () => config({ server: '' })],
    ['clusters', () => config({}).replace('name: house', 'name: other')],
    ['current-context', () => 'apiVersion: v1\nkind: Config\n'],
  ] as const) {
    it(`a kubeconfig with a missing, wrong or unsupported ${field} is refused, with an error without the values of fields`, () => {
      expect(() => read(text()))
        .to.throw(`config: ${field}: `)
        .with.property('message')
        .that.does.not.match(/secret|abc/);
    });
  }

  it('a malformed kubeconfig is refused, with an error that does not quote the file', () => {
    expect(() => read('[]')).to.throw(/config: is not a kubeconfig$/);
    expect(() => read('token: *secret\n  - [')).to.throw(/config: is not valid YAML$/);
    expect(() => readKubeconfig(join(folder, 'none'))).to.throw('ENOENT');
  });
});
