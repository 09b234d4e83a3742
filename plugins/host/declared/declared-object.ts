import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { LocatedYamlDocument } from '@homeostat/apiserver/command-line';
import type { ApiObject, GroupVersionKind, NewObject } from '@homeostat/controller-runtime/api';
import type { DeclarationMistake } from './declaration-mistake.ts';
import type { PluginManifest } from '../manifest/manifest.ts';

/** One object that a plugin's files declare (specification, section 2.9). */
export interface DeclaredObject {
  /** Relative to the plugin's folder. */
  readonly file: string;
  readonly document: number;
  /** Returns the line of a field, or of the nearest field around it. */
  readonly lineOf: (field: string) => number;
  readonly gvk: GroupVersionKind;
  /** The object in the form of a request: with `apiVersion`, even if the file has `groupVersion` in its place. */
  readonly object: NewObject<ApiObject>;
  /**
   * True when the name is missing, which is a separate mistake; `object` has a placeholder, so that the rest can be
   * checked.
   */
  readonly isUnnamed: boolean;
}

/** An object that was read from a file, or a mistake. One document may yield an object and several mistakes. */
export type Declaration = DeclaredObject | DeclarationMistake;

export function isDeclaredObject(declaration: Declaration): declaration is DeclaredObject {
  return 'object' in declaration;
}

/** Returns a mistake with the line of a field of a declared object; without a field, with the line of the document. */
export function mistakeAt(
  { file, document, lineOf }: Pick<DeclaredObject, 'file' | 'document' | 'lineOf'>,
  message: string,
  field?: string,
): DeclarationMistake {
  return { file, document, line: lineOf(field ?? ''), message, ...(field === undefined ? {} : { field }) };
}

/** The placeholder for a missing name. */
export const standInName = 'unnamed';

const versionKeys = { '2.15': 'apiVersion', '2.9': 'groupVersion' } as const;

/**
 * Returns the object of a document, and the mistakes in its kind, its apiVersion (revision 2.9: groupVersion) and its
 * name. The model of the kind checks all other fields later.
 */
export function declarationsOf(
  file: string,
  { document, lineOf, value }: LocatedYamlDocument,
  revision: PluginManifest['revision'],
): readonly Declaration[] {
  const place = { file, document, lineOf };
  const versionKey = versionKeys[revision];
  if (!isJsonObject(value)) return [mistakeAt(place, `must be an object with ${versionKey}, kind and metadata`)];
  const mistakes = [
    ...wrongVersionKey(value, revision),
    ...badText('kind', value['kind']),
    ...badMetadata(value['metadata']),
  ].map(([field, message]) => mistakeAt(place, message, field));
  const object = objectOf(value, revision);
  if (object === undefined) return mistakes;
  const isUnnamed = nameOf(value['metadata']) === undefined;
  return [...mistakes, { ...place, gvk: gvkOf(object.apiVersion, object.kind), object, isUnnamed }];
}

type Fields = Readonly<Record<string, unknown>>;
type Mistake = readonly [field: string, message: string];

/**
 * Returns the mistakes in the field for the version of an object: `apiVersion`, or `groupVersion` in revision 2.9. If
 * the object has the field of the other revision, the mistake names the right field.
 */
function wrongVersionKey(value: Fields, revision: PluginManifest['revision']): readonly Mistake[] {
  const key = versionKeys[revision];
  const [otherRevision, other] = revision === '2.9' ? ['2.15', versionKeys['2.15']] : ['2.9', versionKeys['2.9']];
  const isOther = Object.hasOwn(value, other) && (revision === '2.9' || !Object.hasOwn(value, key));
  if (!isOther) return badText(key, value[key]);
  const why = `is the key of revision ${otherRevision}: a plugin of revision ${revision} writes ${key}`;
  return [[other, why], ...(Object.hasOwn(value, key) ? badText(key, value[key]) : [])];
}

function badText(field: string, value: unknown): readonly Mistake[] {
  if (value === undefined || value === null) return [[field, 'is missing']];
  return isText(value) ? [] : [[field, 'must be a text']];
}

function badMetadata(metadata: unknown): readonly Mistake[] {
  if (metadata === undefined || metadata === null) return [['metadata.name', 'is missing']];
  return isJsonObject(metadata) ? badText('metadata.name', metadata['name']) : [['metadata', 'must be an object']];
}

/** Returns the object with apiVersion and kind; undefined when one of the two is missing or not a text. */
function objectOf(
  value: Fields,
  revision: PluginManifest['revision'],
): (NewObject<ApiObject> & Pick<ApiObject, 'apiVersion' | 'kind'>) | undefined {
  const { apiVersion, kind, metadata, ...rest } = value;
  const { groupVersion, ...others } = rest;
  const usesGroupVersion = revision === '2.9' || apiVersion === undefined;
  const version = usesGroupVersion ? (groupVersion ?? apiVersion) : apiVersion;
  if (!isText(version) || !isText(kind)) return undefined;
  const named = { ...(isJsonObject(metadata) ? metadata : {}), name: nameOf(metadata) ?? standInName };
  return { ...(usesGroupVersion ? others : rest), apiVersion: version, kind, metadata: named };
}

function nameOf(metadata: unknown): string | undefined {
  const name = isJsonObject(metadata) ? metadata['name'] : undefined;
  return isText(name) ? name : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function gvkOf(apiVersion: string, kind: string): GroupVersionKind {
  const slash = apiVersion.indexOf('/');
  return { group: slash < 0 ? '' : apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1), kind };
}
