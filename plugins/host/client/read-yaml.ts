import { CORE_SCHEMA, defineScalarTag, intCoreTag, loadAll, mergeTag, YAMLException } from 'js-yaml';
import { CommandError } from './command-error.ts';

/** A tag that reads an integer with a leading 0 as octal: `0755` is 493. */
const octalTag = defineScalarTag(intCoreTag.tagName, {
  ...intCoreTag,
  resolve: (source, ...more) =>
    /^[-+]?0[0-7]+$/.test(source) ? Number.parseInt(source, 8) : intCoreTag.resolve(source, ...more),
});

const schema = CORE_SCHEMA.withTags(mergeTag, octalTag);

/**
 * Returns the documents of a text in YAML, or in JSON, which is YAML as well. Like kubectl, it reads integers with a
 * leading 0 as octal, and merges the fields of `<<`. `origin` names the text in messages. @throws CommandError with the
 * place of the mistake
 */
export function readYaml(text: string, origin: string, exitCode?: 1 | 2): readonly unknown[] {
  try {
    return loadAll(text, { filename: origin, schema });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { mark, reason } = error;
    const place = mark === undefined || mark === null ? '' : ` at line ${mark.line + 1}, column ${mark.column + 1}`;
    throw new CommandError(`${origin}: ${reason}${place}`, exitCode);
  }
}
