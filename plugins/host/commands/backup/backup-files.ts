import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';

/**
 * Returns the path of a backup that is made at `nowMs`: `homeostat.db` becomes `homeostat-20260131T120000Z.db`. The
 * order of the names is the order of the times.
 */
export function timedFile(to: string, nowMs: number): string {
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const end = extname(to);
  return join(dirname(to), `${basename(to, end)}-${time}${end}`);
}

/**
 * Removes all backups of `to` except the last `keep`. Also removes the incomplete files that killed processes have left
 * before the last backup. Does not touch other files.
 */
export async function removeOldBackups(to: string, keep: number): Promise<void> {
  const folder = dirname(to);
  const names = (await readdir(folder)).sort();
  const whole = names.filter((name) => isOf(to, name));
  const last = whole.at(-1) ?? '';
  const parts = names.filter((name) => {
    const [, file = ''] = /^(.+)\.[0-9a-f-]{36}\.partial$/.exec(name) ?? [];
    return isOf(to, file) && file < last;
  });
  for (const name of [...whole.slice(0, -keep), ...parts]) await rm(join(folder, name), { force: true });
}

/** True for a name that {@link timedFile} returns for `to`. */
function isOf(to: string, name: string): boolean {
  const end = extname(to);
  const start = `${basename(to, end)}-`;
  return (
    name.startsWith(start) &&
    name.endsWith(end) &&
    /^\d{8}T\d{6}Z$/.test(name.slice(start.length, name.length - end.length))
  );
}
