import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import { CORE_SCHEMA, defineScalarTag, intCoreTag, loadAll, mergeTag, YAMLException } from 'js-yaml';

/** The content of a folder of YAML and JSON files. */
export interface Documents {
  /** The objects of all files, in the order of the paths. A `List` is replaced by its items. */
  readonly objects: readonly JsonObject[];
  /** The errors of files that are not valid YAML or JSON, as `<path>:<line>: <reason>`. */
  readonly problems: readonly string[];
}

/** Parses an integer with a leading 0 as octal, as YAML 1.1 does, which is kubectl's version: `0755` is 493. */
const octalTag = defineScalarTag(intCoreTag.tagName, {
  ...intCoreTag,
  resolve: (source, ...more) =>
    /^[-+]?0[0-7]+$/.test(source) ? Number.parseInt(source, 8) : intCoreTag.resolve(source, ...more),
});

/**
 * The options of the YAML parser. They allow merge keys (`<<`), because kubectl reads YAML 1.1, which has them. The
 * maximum depth is high, because a schema of 60 levels has over 100 levels in YAML.
 */
const options = { schema: CORE_SCHEMA.withTags(mergeTag, octalTag), maxDepth: 1000 };

/**
 * Returns the documents of all YAML and JSON files in a folder and its subfolders.
 * @throws Error with the code ENOENT when the folder does not exist.
 */
export function readDocuments(folder: string): Documents {
  const files = filesOf(folder).map(readFile);
  return {
    objects: files.flatMap(({ objects }) => objects),
    problems: files.flatMap(({ problems }) => problems),
  };
}

function filesOf(folder: string): readonly string[] {
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const path = join(folder, name);
      if (statSync(path).isDirectory()) return filesOf(path);
      return /\.(ya?ml|json)$/.test(name) ? [path] : [];
    });
}

function readFile(path: string): Documents {
  try {
    const objects = loadAll(readFileSync(path, 'utf8'), options).flatMap(itemsOf).filter(isJsonObject);
    return { objects, problems: [] };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    return { objects: [], problems: [`${path}:${(error.mark?.line ?? 0) + 1}: ${error.reason}`] };
  }
}

function itemsOf(document: unknown): readonly unknown[] {
  if (!isJsonObject(document) || document['kind'] !== 'List') return [document];
  return Array.isArray(document['items']) ? document['items'] : [];
}
