import { isJsonObject, nearestKey } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import type { ClientCommand } from '../client-command.ts';
import { CommandError } from '../command-error.ts';
import { print } from '../output/print.ts';
import type { ServedResource } from '../resource-names.ts';
import { objectsAt, textAt, valueAt } from '../server-object.ts';

/** `homeostat explain TYPE[.field…]`: prints the documentation of a kind, or of a field. */
export async function explainKind(command: ClientCommand): Promise<number> {
  const [argument, ...more] = command.args;
  if (argument === undefined || more.length > 0)
    throw new CommandError('exactly one argument is needed: TYPE, or TYPE.field.field', 2);
  const [type = '', ...fields] = argument.split('.');
  const resource = (await command.names()).find(type);
  const document = await openApiOf(command, resource);
  const explanation = new Explanation(document, command.flags['recursive'] === true);
  await print(explanation.text(resource, fields));
  return 0;
}

async function openApiOf({ server }: ClientCommand, { group, version }: ServedResource): Promise<JsonObject> {
  const root = group === '' ? `api/${version}` : `apis/${group}/${version}`;
  return server.send('GET', `/openapi/v3/${root}`);
}

class Explanation {
  readonly #schemas: JsonObject;
  readonly #isRecursive: boolean;

  constructor(document: JsonObject, isRecursive: boolean) {
    const schemas = valueAt(document, 'components', 'schemas');
    this.#schemas = isJsonObject(schemas) ? schemas : {};
    this.#isRecursive = isRecursive;
  }

  text(resource: ServedResource, fields: readonly string[]): string {
    let schema = this.#schemaOf(resource);
    let type = '';
    for (const [index, field] of fields.entries()) {
      const known = this.#fieldsOf(schema);
      const found = known[field];
      if (!isJsonObject(found)) {
        const near = nearestKey(field, Object.keys(known));
        const hint = near === undefined ? '' : `; did you mean "${near}"?`;
        const path = fields.slice(0, index + 1).join('.');
        throw new CommandError(`field "${path}" does not exist in ${resource.kind}${hint}`);
      }
      type = this.#typeOf(found);
      schema = this.#resolved(found);
    }
    const { group, version, kind } = resource;
    const last = fields.at(-1);
    const rows = this.#rows(schema, '    ', new Set());
    return [
      ...(group === '' ? [] : [`GROUP:      ${group}`]),
      `KIND:       ${kind}`,
      `VERSION:    ${version}`,
      '',
      ...(last === undefined ? [] : [`FIELD: ${last} <${type}>`, '']),
      'DESCRIPTION:',
      `    ${this.#descriptionOf(schema)}`,
      '',
      ...(rows.length === 0 ? [] : ['FIELDS:', ...rows, '']),
    ].join('\n');
  }

  #schemaOf({ group, version, kind }: ServedResource): JsonObject {
    const isMeant = (schema: unknown): boolean => {
      const kinds = objectsAt(schema, 'x-kubernetes-group-version-kind');
      return kinds.some((each) => each['group'] === group && each['version'] === version && each['kind'] === kind);
    };
    const found = Object.values(this.#schemas).find(isMeant);
    if (isJsonObject(found)) return found;
    throw new CommandError(`the server has no schema for ${kind} in version ${version}`);
  }

  /**
   * Returns the schema whose fields are described: for a `$ref`, also inside an `allOf`, the schema that it names; for
   * a list or a map, the schema of its items or values.
   */
  #resolved(schema: JsonObject): JsonObject {
    const { allOf, items, additionalProperties, $ref } = schema;
    const [only] = objectsAt(allOf);
    const reference = typeof $ref === 'string' ? $ref : valueAt(only, '$ref');
    if (typeof reference === 'string') {
      const target = this.#schemas[reference.slice(reference.lastIndexOf('/') + 1)];
      const { description } = schema;
      return isJsonObject(target) ? { ...target, ...(typeof description === 'string' ? { description } : {}) } : schema;
    }
    if (isJsonObject(items)) return { ...this.#resolved(items), ...withDescription(schema) };
    const isMap = isJsonObject(additionalProperties) && schema['properties'] === undefined;
    return isMap ? { ...this.#resolved(additionalProperties), ...withDescription(schema) } : schema;
  }

  #fieldsOf(schema: JsonObject): JsonObject {
    const { properties } = this.#resolved(schema);
    return isJsonObject(properties) ? properties : {};
  }

  /** Returns the type as kubectl writes it: `string`, `[]Object`, `map[string]integer`. */
  #typeOf(schema: JsonObject): string {
    const { items, additionalProperties } = schema;
    if (isJsonObject(items)) return `[]${this.#typeOf(items)}`;
    if (isJsonObject(additionalProperties)) return `map[string]${this.#typeOf(additionalProperties)}`;
    const resolved = this.#resolved(schema);
    const name = textAt(resolved, 'type') || textAt(schema, 'type');
    if (schema['x-kubernetes-int-or-string'] === true) return 'IntOrString';
    return name === 'object' || isJsonObject(resolved['properties']) ? 'Object' : name || 'any';
  }

  #descriptionOf(schema: JsonObject): string {
    const { description } = schema;
    return typeof description === 'string' && description !== '' ? description.replaceAll('\n', '\n    ') : '<empty>';
  }

  #rows(schema: JsonObject, indent: string, inside: ReadonlySet<JsonObject>): readonly string[] {
    const { required } = this.#resolved(schema);
    return Object.entries(this.#fieldsOf(schema)).flatMap(([name, field]) => {
      if (!isJsonObject(field)) return [];
      const mark = Array.isArray(required) && required.includes(name) ? ' -required-' : '';
      const line = `${indent}${name}\t<${this.#typeOf(field)}>${mark}`;
      // `inside` has the schemas that enclose this field. It ends the recursion for a schema that contains itself.
      if (this.#isRecursive)
        return [line, ...(inside.has(field) ? [] : this.#rows(field, `${indent}  `, new Set([...inside, field])))];
      return [line, `${indent}  ${this.#descriptionOf(this.#resolved(field)).replaceAll('\n', '\n  ')}`, ''];
    });
  }
}

function withDescription({ description }: JsonObject): { readonly description?: string } {
  return typeof description === 'string' ? { description } : {};
}
