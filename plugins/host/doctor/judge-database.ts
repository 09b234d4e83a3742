import { inspectDatabase } from '@homeostat/apiserver';
import type { DatabaseInspection } from '@homeostat/apiserver';
import { existsSync } from 'node:fs';
import { errorText, hasCode } from '../text/error-text.ts';
import { startCure } from '../serve/start-cure.ts';
import type { Finding } from './finding.ts';
import { counted } from '../text/counted.ts';

const check = 'database';

export interface DatabasePlace {
  readonly database: string;
  /** The file of a SQLite database; undefined for any other database. */
  readonly file: string | undefined;
  readonly encryptionConfig?: string;
  /** The URL of the server that runs with the database, if one responds. */
  readonly servedAt: string | undefined;
}

/** Judges the database, and every object of it. */
export async function judgeDatabase(place: DatabasePlace): Promise<readonly Finding[]> {
  const { database, file, encryptionConfig, servedAt } = place;
  if (database === 'memory:')
    return [{ check, level: 'warning', message: 'in memory: all objects are lost when the process ends' }];
  if (file !== undefined && !existsSync(file))
    return [{ check, level: 'ok', message: `${file} does not exist yet: the server makes it` }];
  try {
    return told(await inspectDatabase(database, encryptionConfig === undefined ? {} : { encryptionConfig }));
  } catch (error) {
    if (!hasCode(error, 'locked') || servedAt === undefined)
      return [{ check, level: 'error', message: errorText(error), cure: cureOf(error) }];
    return [{ check, level: 'ok', message: `the server at ${servedAt} uses the database, and checks it itself` }];
  }
}

function cureOf(error: unknown): string {
  if (error instanceof RangeError) return 'correct --database';
  return startCure(error) ?? 'see docs/troubleshooting.md';
}

function told(inspection: DatabaseInspection): readonly Finding[] {
  const { schema, knownSchema, objects, unreadable, unreadableObjects } = inspection;
  if (schema === 0) return [{ check, level: 'ok', message: 'empty: the server creates the tables when it starts' }];
  if (schema > knownSchema) {
    const message = `the tables have version ${schema}, but this program supports at most version ${knownSchema}`;
    return [{ check, level: 'error', message, cure: 'install the newest version of homeostat' }];
  }
  if (schema < knownSchema) {
    const message = `the tables have version ${schema}: the server upgrades the tables to ${knownSchema} at its start`;
    const cure = 'make a backup first: homeostat export';
    return [{ check, level: 'warning', message, cure }];
  }
  const health: Finding = { check, level: 'ok', message: `${counted(objects, 'object')}, tables of version ${schema}` };
  const broken = unreadable.map(({ key, reason }): Finding => {
    const cure = 'restore the encryption key, or replace or delete the object: see docs/operating/databases.md';
    return { check: 'objects', level: 'error', message: `${key} cannot be read: ${reason}`, cure };
  });
  const more = unreadableObjects - unreadable.length;
  const rest: Finding = { check: 'objects', level: 'error', message: `and ${more} more objects cannot be read` };
  return [health, ...broken, ...(more > 0 ? [rest] : [])];
}
