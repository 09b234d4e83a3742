import { expect } from 'chai';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatKubeconfig } from '../text/kubeconfig-text.ts';
import { AdminKubeconfig } from './admin-kubeconfig.ts';

describe("the administrator's kubeconfig", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'homeostat-admin-kubeconfig-'));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  function fileWith(token: string | undefined): AdminKubeconfig {
    const path = join(folder, 'admin.kubeconfig');
    const url = new URL('http://127.0.0.1:8700');
    writeFileSync(path, formatKubeconfig({ name: 'homeostat', url, ca: undefined, token }));
    chmodSync(path, 0o600);
    return new AdminKubeconfig(path);
  }

  for (const [problem, token] of [
    ['has no token', undefined],
    ['the token must be 16 to 1024 printable ASCII characters', 'short'],
  ] as const) {
    it(`is refused with the message "${problem}", which names a remedy for all databases, and one for SQLite only`, () => {
      const file = fileWith(token);
      const refusal = expect(() => file.read())
        .to.throw(Error)
        .with.property('message');
      refusal.that.includes(problem).and.includes('put the token, or another one, into the file');
      refusal.that.includes('with SQLite, you can also delete the file');
    });
  }
});
