import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { makePlugin, removeFolders } from '../package/plugin-folder.fixture.ts';
import { bannerOf } from './banner.ts';
import { readConfig } from './config.ts';
import { PrettyLog } from './pretty-log.ts';

const script = fileURLToPath(new URL('../../bin/homeostat.js', import.meta.url));
const host = fileURLToPath(new URL('../index.js', import.meta.url));
const runOnTerminal = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)';

describe('PrettyLog', () => {
  let text: string;
  const log = (options: Partial<ConstructorParameters<typeof PrettyLog>[0]> = {}): PrettyLog => {
    text = '';
    const output = { write: (line: string) => void (text += line) };
    return new PrettyLog({ output, colored: false, isTerminal: false, verbose: false, ...options });
  };
  const line = (fields: object): string =>
    JSON.stringify({ level: 'error', time: '2030-01-01T12:34:56.789Z', pid: 1, hostname: 'x', ...fields });
  const failedMs = Date.UTC(2030, 0, 1, 12, 34, 56, 789);
  const failure = (attempt: number, message = 'nope'): string => {
    const stack = `Error: ${message}\n    at run (file:///my/plugin/dist/index.js:4:6)\n    at host (${host}:1:1)\n    at node:internal/x:1:1`;
    const err = { type: 'Error', message, stack };
    return line({
      plugin: 'p',
      controller: 'greeting',
      key: 'world',
      attempt,
      nextTime: new Date(failedMs + 2 ** (attempt - 1) * 100).toISOString(),
      err,
      msg: 'reconcile failed; trying again',
    });
  };

  it('writes time, level, subject, message and the other fields', () => {
    const pretty = log();
    pretty.write(line({ level: 'warn', plugin: 'p', lease: 'a', n: 3, msg: 'lost\u001B[2J' }));
    expect(text).to.equal('12:34:56 warn  p: lost [2J  lease=a n=3\n');
  });

  it('shows a repeated error only at the attempts 1, 2, 4 and 8, and only the stack frames of plugins [spec experience-logs]', () => {
    const pretty = log();
    for (let attempt = 1; attempt <= 9; attempt += 1) pretty.write(failure(attempt));
    const said = '12:34:56 error p/greeting world: nope: reconcile failed; trying again, attempt';
    expect(text.split('\n')).to.deep.equal([
      `${said} 1, next in 0.1 s`,
      '               at run (file:///my/plugin/dist/index.js:4:6)',
      `${said} 2, next in 0.2 s`,
      `${said} 4, next in 0.8 s`,
      `${said} 8, next in 13 s`,
      '',
    ]);
  });

  it('shows an error of an object with its stack whenever the error differs from the previous error of that object', () => {
    const pretty = log();
    for (const [attempt, message] of [
      [5, 'a'],
      [6, 'b'],
      [7, 'a'],
    ] as const)
      pretty.write(failure(attempt, message));
    expect(text.match(/attempt \d, next in [\d.]+ s\n +at run/g)).to.have.length(3);
  });

  it('shows at a terminal how many objects are indexed, in a line that the next line replaces [spec experience-progress]', () => {
    const pretty = log({ isTerminal: true });
    const indexing = (indexed: number): string =>
      line({ level: 'info', plugin: 'p', kind: 'Person', indexed, msg: 'indexing' });
    pretty.write(indexing(1000));
    pretty.write(indexing(2000));
    pretty.ready('banner\n');
    const clear = '\r\u001B[K';
    expect(text).to.equal(
      `indexing Person: 1000 objects so far${clear}indexing Person: 2000 objects so far${clear}banner\n`,
    );
    const elsewhere = log();
    text = '';
    elsewhere.write(indexing(1000));
    expect(text).to.equal('');
  });

  it('shows only warnings and errors before the banner, unless the log is verbose', () => {
    const pretty = log();
    pretty.write(line({ level: 'info', msg: 'listening' }));
    pretty.write(line({ level: 'warn', msg: 'odd' }));
    pretty.ready('banner\n');
    pretty.write(line({ level: 'info', msg: 'stopping' }));
    expect(text).to.equal('12:34:56 warn  odd\nbanner\n12:34:56 info  stopping\n');
    const verbose = log({ verbose: true });
    verbose.write(line({ level: 'info', msg: 'listening' }));
    expect(text).to.equal('12:34:56 info  listening\n');
  });

  it('begins with a banner that has the database without its password, the addresses, the way to log in and a next command [spec experience-banner]', () => {
    const flags = { database: 'postgres://me:secret@db/x?password=secret', auth: 'open' };
    const banner = bannerOf('http://127.0.0.1:8700', readConfig({ flags, environment: {} }));
    expect(banner.split('\n')).to.have.length(6);
    expect(banner)
      .to.include('database postgres://db/x\n')
      .and.include('API      http://127.0.0.1:8700\n')
      .and.include('Console  http://127.0.0.1:8700/console/\n')
      .and.include('--auth open')
      .and.include('Next     homeostat api-resources, in')
      .and.not.include('secret');
    const elsewhere = bannerOf('http://127.0.0.1:9000', readConfig({ flags, environment: {} }));
    expect(elsewhere).to.include('Next     homeostat api-resources --server http://127.0.0.1:9000, in');
    const closed = bannerOf('http://x', readConfig({ flags: {}, environment: {} }));
    expect(closed).to.include('log in with the token in data/admin.kubeconfig');
  });
});

describe('homeostat serve at a terminal [slow]', () => {
  afterEach(removeFolders);

  it('prints the banner before lines of the level info, and shows errors as readable lines [spec experience-banner, experience-logs]', async () => {
    const folder = await makePlugin('broken', 'export default { start() { throw new Error("no luck"); } };');
    const serve = ['serve', '--auth', 'open', '--port', '0', '--database', 'memory:', '--plugin', folder];
    const child = spawn('/usr/bin/python3', ['-c', runOnTerminal, process.execPath, script, ...serve], {
      env: { PATH: process.env['PATH'], TERM: 'xterm' },
    });
    let output = '';
    child.stdout.on('data', (piece) => (output += String(piece)));
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    try {
      await eventually(() => expect(output).to.match(/Next .*\r\n/));
      child.stdin.write('\u0003');
      expect(await ended).to.equal(0);
    } finally {
      child.stdin.end();
      child.kill();
      await ended;
    }
    const plain = stripVTControlCharacters(output).replaceAll('\r', '');
    expect(output).to.include('\u001B[31merror');
    expect(plain).to.match(
      /error broken: no luck: plugin failed.*\n +at Object\.start .*index\.js:1:\d+\)\nHomeostat \S+, database memory:\n {2}API {6}http/,
    );
    expect(plain)
      .to.match(/info {2}stopped\n$/)
      .and.not.include('{"level"');
  });
});
