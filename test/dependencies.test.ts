import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

interface Lock {
  readonly packages: Record<string, Record<string, unknown>>;
}

interface Outcome {
  readonly code: number;
  readonly stdout: string;
}

describe('the check of dependencies', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-dependencies-'));
    await mkdir(join(folder, '.ci'));
    await cp(join(root, '.ci/packages/dependencies.yaml'), join(folder, '.ci/packages/dependencies.yaml'));
  });

  after(() => rm(folder, { recursive: true }));

  /** Returns the output and the exit code of the check after a change of the lock file. */
  async function check(change: (lock: Lock) => void): Promise<Outcome> {
    const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as Lock;
    change(lock);
    await writeFile(join(folder, 'package-lock.json'), JSON.stringify(lock));
    const checking = run(process.execPath, [join(root, '.ci/packages/dependencies.js'), folder]);
    return checking.then(
      ({ stdout }) => ({ code: 0, stdout }),
      (error: unknown) => error as Outcome,
    );
  }

  it('accepts the lock file of this repository', async () => {
    expect(await check(() => undefined)).to.include({ code: 0, stdout: '' });
  });

  it('refuses a licence that is not allowed, and accepts a choice of licences if one of them is allowed', async () => {
    const { code, stdout } = await check(({ packages }) => {
      packages['node_modules/copied'] = { version: '1.0.0', license: 'GPL-3.0-only' };
      packages['node_modules/silent'] = { version: '1.0.0' };
      packages['node_modules/either'] = { version: '1.0.0', license: '(GPL-3.0-only OR MIT)' };
      packages['node_modules/tool'] = { version: '1.0.0', license: 'GPL-3.0-only', dev: true };
    });
    expect(code).to.equal(1);
    expect(stdout.trim().split('\n')).to.deep.equal([
      'copied 1.0.0: licence GPL-3.0-only is not in .ci/packages/dependencies.yaml',
      'silent 1.0.0: licence unknown is not in .ci/packages/dependencies.yaml',
    ]);
  });

  it('also checks the licences of packages that a build bundles into our packages, and of their dependencies', async () => {
    const { code, stdout } = await check(({ packages }) => {
      for (const name of ['preact', '@marijn/find-cluster-break', 'swagger-ui-dist', 'vite', 'mocha'])
        packages[`node_modules/${name}`] = { ...packages[`node_modules/${name}`], license: 'GPL-3.0-only' };
    });
    expect(code).to.equal(1);
    expect(stdout.match(/^\S+/gm)).to.have.members(['preact', '@marijn/find-cluster-break', 'swagger-ui-dist']);
  });

  it('refuses a package that has several versions, or that our packages require in different ranges', async () => {
    const { code, stdout } = await check(({ packages }) => {
      packages['node_modules/ajv/node_modules/pg'] = { version: '1.0.0', license: 'MIT' };
      packages['apiserver'] = { ...packages['apiserver'], dependencies: { 'js-yaml': '1.0.0' } };
    });
    expect(code).to.equal(1);
    expect(stdout)
      .to.match(/^pg has the versions .*1\.0\.0/m)
      .and.match(/^our packages require js-yaml as /m);
  });
});
