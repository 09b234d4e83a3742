import { expect } from 'chai';
import { load } from 'js-yaml';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { command } from './support/commands/command.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (name: string): string => readFileSync(`${root}deploy/${name}`, 'utf8');

describe('The files of deploy [spec experience-deploy]', () => {
  /** Returns the help text of `homeostat serve`, which lists all options. */
  async function known(): Promise<string> {
    return (await command(['serve', '--help'])).stdout;
  }

  it('use only environment variables and options that homeostat serve has', async () => {
    const help = await known();
    const text = ['Containerfile', 'compose.yaml', 'homeostat.service', 'README.md'].map(read).join('\n');
    const variables = text.match(/\bHOMEOSTAT_[A-Z_]+\b/g) ?? [];
    expect(variables).to.include.members(['HOMEOSTAT_DATABASE', 'HOMEOSTAT_HOST', 'HOMEOSTAT_TLS']);
    for (const variable of new Set(variables)) {
      if (variable === 'HOMEOSTAT_TOKEN') continue;
      const option = variable.replace('HOMEOSTAT_', '').toLowerCase().replaceAll('_', '-');
      expect(help, variable).to.match(new RegExp(`^ +--${option}\\b`, 'm'));
    }
    const [start = ''] = /^ExecStart=.*$/m.exec(read('homeostat.service')) ?? [];
    for (const option of start.match(/--[a-z-]+/g) ?? [])
      expect(help, option).to.match(new RegExp(`^ +${option}\\b`, 'm'));
  });

  it('name only package folders and programs that exist', () => {
    const [, folders = ''] = /for folder in (.*?);/.exec(read('Containerfile')) ?? [];
    expect(folders.split(' ')).to.include.members(['apiserver', 'plugins/host']);
    for (const folder of folders.split(' ')) expect(existsSync(`${root}${folder}/package.json`), folder).to.equal(true);
    expect(read('Containerfile')).to.include('node_modules/homeostat/bin/homeostat.js');
    expect(existsSync(`${root}plugins/host/bin/homeostat.js`)).to.equal(true);
  });

  it('keep .git, and the files that git ignores, out of the image', () => {
    const linesOf = (name: string): string[] =>
      readFileSync(`${root}${name}`, 'utf8')
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'));
    const ignored = linesOf('.gitignore').map((line) => `**/${line.replace(/\/$/, '')}`);
    expect(linesOf('.dockerignore')).to.have.members(['.git', ...ignored]);
  });

  it('have a health check that runs in Node, and fails without a server', () => {
    const [, check = ''] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(read('Containerfile')) ?? [];
    const words: unknown = JSON.parse(check);
    if (!Array.isArray(words)) throw new Error('the health check is not a list');
    const [, flag, code] = words.map(String);
    const { status, stderr } = spawnSync(process.execPath, [flag ?? '', (code ?? '').replace('8700', '1')]);
    expect(String(stderr)).to.equal('');
    expect(status).to.equal(1);
  });

  it('include a compose file that builds the image of the Containerfile', () => {
    const compose = load(read('compose.yaml'));
    expect(compose).to.have.nested.property('services.homeostat.build.dockerfile', 'deploy/Containerfile');
    expect(compose).to.have.nested.property('services.homeostat.read_only', true);
  });

  it('set MALLOC_MMAP_THRESHOLD_, so that freed memory returns to the system', () => {
    expect(read('Containerfile')).to.match(/^ENV (?:.*\\\n)*? *MALLOC_MMAP_THRESHOLD_=1048576\b/m);
    expect(read('homeostat.service')).to.match(/^Environment=MALLOC_MMAP_THRESHOLD_=1048576$/m);
  });

  it('include a systemd unit that systemd-analyze accepts', function () {
    if (!existsSync('/usr/bin/systemd-analyze')) this.skipBecause('there is no systemd-analyze');
    const printed = execFileSync('systemd-analyze', ['verify', `${root}deploy/homeostat.service`], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    expect(printed).to.equal('');
  });
});
