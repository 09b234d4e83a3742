import { importDatabase } from '@homeostat/apiserver';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfigSources } from '../serve/config-values.ts';
import { readDatabase, readEncryptionConfig } from './copy-options.ts';
import { writeWhole } from '../text/output-file.ts';
import { commandProgress } from './command-progress.ts';
import { runCopy } from './run-copy.ts';
import { counted } from '../text/counted.ts';

export interface RunImportOptions extends ConfigSources {
  /** Path of an export; `-` for stdin. */
  readonly file: string;
}

/**
 * Imports an export into an empty database, and returns the exit code: 0 only when the database then has exactly the
 * objects of the export.
 */
export function runImport({ file, ...sources }: RunImportOptions): Promise<number> {
  return runCopy('import', async (signal) => {
    const database = readDatabase(sources);
    const encryptionConfig = readEncryptionConfig(sources);
    const keys = encryptionConfig === undefined ? {} : { encryptionConfig };
    const importFile = async (path: string): Promise<void> => {
      const progress = commandProgress('importing', 'objects');
      const onProgress = (objects: number, total: number): void => progress.show(objects, total);
      const { objects, sha256 } = await importDatabase({ database, file: path, signal, onProgress, ...keys }).finally(
        () => progress.end(),
      );
      process.stdout.write(`imported ${counted(objects, 'object')}, sha256 ${sha256}, equal to the export\n`);
    };
    if (file === '-') await withStdinAsFile(importFile, signal);
    else await importFile(file);
  });
}

/**
 * Stores an export from stdin in a file for the time of `work`, because an import reads the export twice: it first
 * checks the whole export.
 */
async function withStdinAsFile(work: (path: string) => Promise<void>, signal: AbortSignal): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'homeostat-import-'));
  try {
    const path = join(folder, 'export.ndjson');
    await writeWhole(path, process.stdin, signal);
    await work(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
