import { ignoreNotFound } from '@homeostat/controller-runtime/api';
import type { PluginClient } from '@homeostat/apiserver';
import { checkDeclaredObjects, mistakesOf } from './check-declared-objects.ts';
import type { CheckDeclaredParts, KnownObject } from './check-declared-objects.ts';
import { declarationError, formatMistake } from './declaration-mistake.ts';
import { isDeclaredObject, mistakeAt } from './declared-object.ts';
import type { Declaration, DeclaredObject } from './declared-object.ts';
import { fieldManagerOf } from './declared-mark.ts';

export interface ApplyDeclaredParts extends CheckDeclaredParts {
  readonly client: PluginClient;
  /** The key of the annotation of objects that a plugin has created; the value is the plugin's name. */
  readonly createdBy: string;
  readonly plugin: string;
}

/**
 * Applies the objects (specification, section 2.9): creates absent objects, and changes existing objects except for
 * fields that others have changed. Resolves with these fields, each with file, document and line. Rejects with all
 * mistakes. No object is written if a file has a mistake, or if a dry run of any object finds one.
 */
export async function applyDeclaredObjects(
  declarations: readonly Declaration[],
  parts: ApplyDeclaredParts,
): Promise<readonly string[]> {
  const { known, mistakes } = await checkDeclaredObjects(declarations.filter(isDeclaredObject), parts);
  const unread = declarations.flatMap((each) => (isDeclaredObject(each) ? [] : [each]));
  const tried = mistakes.length + unread.length > 0 ? [] : await applyAll(known, parts, true);
  const wrong = [...unread, ...mistakes, ...tried.flatMap((each) => ('error' in each ? each.error : []))];
  if (wrong.length > 0) throw declarationError(wrong);
  const applied = await applyAll(known, parts, false);
  const failed = applied.flatMap((each) => ('error' in each ? each.error : []));
  if (failed.length > 0) throw declarationError(failed);
  return applied.flatMap((each) => ('contested' in each ? each.contested : []));
}

type Outcome = { readonly contested: readonly string[] } | { readonly error: ReturnType<typeof mistakesOf> };

async function applyAll(
  known: readonly KnownObject[],
  parts: ApplyDeclaredParts,
  dryRun: boolean,
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const each of known) {
    parts.signal.throwIfAborted();
    // Absent objects need no dry run here, because the check has already tried to create them by a dry run.
    if (!dryRun || each.isPresent) outcomes.push(await applyOne(each, parts, dryRun));
  }
  return outcomes;
}

async function applyOne(
  { declared, model }: KnownObject,
  parts: ApplyDeclaredParts,
  dryRun: boolean,
): Promise<Outcome> {
  const { client, plugin, signal } = parts;
  try {
    const { namespace } = declared.object.metadata;
    const place = { signal, ...(namespace === undefined ? {} : { namespace }) };
    const live = await client.get(model, nameOf(declared), place).catch(ignoreNotFound);
    const isOwn = live === undefined || live.metadata.annotations?.[parts.createdBy] === plugin;
    const object = isOwn ? marked(declared, parts) : declared.object;
    const { contested } = await client.applyUncontested(
      model,
      { ...object, metadata: { ...object.metadata, name: nameOf(declared) } },
      { fieldManager: fieldManagerOf(plugin), fieldValidation: 'Ignore', dryRun, signal },
    );
    const named = `${declared.gvk.kind} "${nameOf(declared)}" keeps the value of another field manager`;
    return {
      contested: contested.map(({ field = '', message }) =>
        formatMistake(mistakeAt(declared, `${named}, ${message}`, field.replace(/^\./, ''))),
      ),
    };
  } catch (error) {
    parts.signal.throwIfAborted();
    return { error: mistakesOf(declared, error) };
  }
}

/**
 * Adds the annotation that names the plugin as the creator of the object. The plugin's field manager then owns this
 * annotation. If a user copies the object, the user's field manager owns the annotation in the copy, so an
 * uninstallation of the plugin does not delete the copy.
 */
function marked({ object }: DeclaredObject, { createdBy, plugin }: ApplyDeclaredParts): DeclaredObject['object'] {
  const annotations = { ...object.metadata.annotations, [createdBy]: plugin };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

function nameOf({ object }: DeclaredObject): string {
  return object.metadata.name ?? '';
}
