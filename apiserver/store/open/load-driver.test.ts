import { expect } from 'chai';
import { loadDriver } from './load-driver.ts';

describe('loadDriver [spec experience-drivers]', () => {
  it('rejects with the command that installs a missing package', async () => {
    const missing = ['homeostat', 'no-such-package'].join('-');
    const load = (): Promise<unknown> => import(missing);
    const error = await loadDriver('mysql', load).catch((reason: unknown) => reason);
    expect(error).to.include({ code: 'refused', message: 'mysql: databases need a driver: npm install mysql2@3' });
  });

  it('returns the loaded module, and rejects with the original error when an installed package fails to load', async () => {
    const broken = new Error('broken');
    expect(await loadDriver('etcd', () => Promise.reject(broken)).catch((reason: unknown) => reason)).to.equal(broken);
    expect(await loadDriver('etcd', () => Promise.resolve(7))).to.equal(7);
  });
});
