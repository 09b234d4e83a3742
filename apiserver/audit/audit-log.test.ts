import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Metrics } from '@homeostat/controller-runtime/telemetry';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { AuditLog } from './audit-log.ts';
import { LogFile, rotatedFiles } from './log-file.ts';

const dayMs = 86_400_000;

/** Returns the line of an entry with this time. The entry has only the field that the rotation of files reads. */
function lineAt(ms: number): string {
  return `{"stageTimestamp":"${new Date(ms).toISOString()}"}\n`;
}

describe('an audit log file', () => {
  let folder: string;
  let path: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'audit-log-'));
    path = join(folder, 'audit.log');
  });

  afterEach(() => rm(folder, { recursive: true }));

  it('is rotated when its first entry is too old, even after a restart, and rotated files that are too old are deleted', async () => {
    const options = { path, maxBytes: 1_000_000, maxAgeMs: dayMs, maxBackups: 10 };
    const file = new LogFile(options);
    await file.append(Buffer.from(lineAt(0)), 0);
    await file.close();
    const again = new LogFile(options);
    await again.append(Buffer.from(lineAt(dayMs)), dayMs);
    expect(await rotatedFiles(path)).to.have.length(0);
    await again.append(Buffer.from(lineAt(dayMs + 1)), dayMs + 1);
    expect((await rotatedFiles(path)).map(({ rotatedMs }) => rotatedMs)).to.deep.equal([dayMs + 1]);
    expect(await readFile(path, 'utf8')).to.equal(lineAt(dayMs + 1));
    await again.append(Buffer.from(lineAt(3 * dayMs)), 3 * dayMs);
    expect((await rotatedFiles(path)).map(({ rotatedMs }) => rotatedMs)).to.deep.equal([3 * dayMs]);
    await again.close();
  });

  it('keeps all files that are rotated in the same millisecond', async () => {
    const file = new LogFile({ path, maxBytes: 10, maxBackups: 10 });
    for (let index = 0; index < 4; index += 1) await file.append(Buffer.from('a line here\n'), 5);
    expect((await rotatedFiles(path)).map(({ rotatedMs }) => rotatedMs)).to.deep.equal([5, 6, 7]);
    await file.close();
  });

  it('receives all waiting entries when the log is closed', async () => {
    const clock = new FakeClock();
    const file = new LogFile({ path, maxBytes: 1_000_000, maxBackups: 1 });
    const metrics = new Metrics();
    const log = new AuditLog({ file, clock, logger: silentLogger, metrics });
    await log.open();
    for (let index = 0; index < 1000; index += 1) log.add(`${index}\n`);
    expect(await readFile(path, 'utf8')).to.equal('');
    await log.close();
    expect((await readFile(path, 'utf8')).split('\n')).to.have.length(1001);
    expect(metrics.text()).to.include('apiserver_audit_event_total 1000\n');
  });

  it('keeps the order of entries that are added while others are written', async () => {
    const log = new AuditLog({
      file: new LogFile({ path, maxBytes: 1_000_000, maxBackups: 1 }),
      clock: new FakeClock(),
      logger: silentLogger,
      metrics: new Metrics(),
    });
    await log.open();
    const lines = Array.from({ length: 300 }, (_, index) => `${index}: ${'ü'.repeat(index)}\n`);
    const written: Promise<void>[] = [];
    for (const [index, line] of lines.entries()) {
      if (index % 3 === 0) written.push(log.addNow(line));
      else log.add(line);
      if (index % 10 === 0) await written.at(-1);
    }
    await Promise.all(written);
    await log.close();
    expect(await readFile(path, 'utf8')).to.equal(lines.join(''));
  });

  it('drops and counts entries when too many entries wait for the disk [slow]', async () => {
    const lines: string[] = [];
    const note = (_fields: object, message: string): void => void lines.push(message);
    const logger = { ...silentLogger, error: note, info: note };
    const metrics = new Metrics();
    const file = new LogFile({ path, maxBytes: 1_000_000_000, maxBackups: 1 });
    const log = new AuditLog({ file, clock: new FakeClock(), logger, metrics });
    await log.open();
    const line = 'x'.repeat(1024 * 1024);
    for (let index = 0; index < 20; index += 1) log.add(line);
    const refusal = await log.addNow(line).then(
      () => '',
      (error: unknown) => String(error),
    );
    expect(refusal).to.include('too many entries');
    expect(metrics.text()).to.include('apiserver_audit_error_total 5\n');
    await log.addNow('y\n').catch(() => undefined);
    await log.close();
    expect(lines).to.deep.equal([
      'audit entries cannot be written, and are lost',
      'audit entries can be written again',
    ]);
  });
});
