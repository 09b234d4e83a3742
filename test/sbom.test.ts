import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

interface Component {
  readonly name: string;
  readonly version: string;
  readonly scope: string;
  readonly purl: string;
}

interface Bom {
  readonly serialNumber: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Lock {
  readonly packages: Record<string, Record<string, unknown>>;
}

async function print(...args: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [join(root, '.ci/packages/sbom.js'), ...args], {
    maxBuffer: 64 * 2 ** 20,
  });
  return stdout;
}

describe('the software bill of materials (npm run sbom) [spec experience-sbom]', () => {
  let text: string;
  let bom: Bom;

  before(async () => {
    text = await print();
    bom = JSON.parse(text) as Bom;
  });

  it('has every dependency of our packages in the version of the lock file, and no development tools', async () => {
    const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as Lock;
    const own = ['controller-runtime', 'apiserver', 'plugins/host', 'plugins/console', 'plugins/create-homeostat'];
    const needed = own.flatMap((path) => Object.keys(packages[path]?.['dependencies'] ?? {}));
    const names = bom.components.map(({ name }) => name);
    expect(names).to.include.members(needed);
    for (const name of ['mocha', 'typescript', 'mysql2', '@grpc/grpc-js', 'vite']) expect(names).to.not.include(name);
    expect(bom.components.find(({ name }) => name === 'pg')).to.include({
      version: packages['node_modules/pg']?.['version'],
      scope: 'required',
    });
    expect(bom.metadata.component).to.include({
      name: 'homeostat',
      purl: `pkg:npm/homeostat@${bom.metadata.component.version}`,
    });
  });

  it('lists each package once, and has dependencies only between listed packages', () => {
    const listed = [bom.metadata.component, ...bom.components].map(({ purl }) => purl);
    expect(new Set(listed).size).to.equal(listed.length);
    expect(bom.dependencies.map(({ ref }) => ref)).to.have.members(listed);
    for (const { dependsOn } of bom.dependencies) expect(listed).to.include.members([...dependsOn]);
  });

  it('is identical at each run', async () => {
    expect(await print()).to.equal(text);
    expect(bom.serialNumber).to.match(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('fails the check when a package has no licence or no digest [slow]', async () => {
    expect(await print('--check')).to.equal('');
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-sbom-'));
    const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as Lock;
    delete lock.packages['node_modules/pg']?.['license'];
    delete lock.packages['node_modules/koa']?.['integrity'];
    await writeFile(join(folder, 'package-lock.json'), JSON.stringify(lock));
    const failed: unknown = await print('--check', folder).catch((error: unknown) => error);
    await rm(folder, { recursive: true });
    expect(failed)
      .to.include({ code: 1 })
      .and.have.property('stdout')
      .that.matches(/pg@\S+: has no licence\n.*koa@\S+: has no digest\n$/);
  });
});
