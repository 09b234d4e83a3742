import type { HostileRequest } from './hostile-request.ts';

const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const group = 'definitions.example.com';

/** Words that fill descriptions. */
const words = 'the name of what is kept where it belongs and of all that it needs to be found again'.split(' ');

function describe(number: number, count: number): string {
  return Array.from({ length: count }, (_, index) => words[(number * 7 + index) % words.length]).join(' ');
}

/** Returns a schema with the given number of leaves, three levels deep, like the schemas of workflow engines. */
function schemaOf(leaves: number): object {
  const leaf = (number: number): object => {
    const description = describe(number, 12);
    if (number % 9 === 0) return { type: 'array', description, items: { type: 'string' } };
    if (number % 7 === 0)
      return { type: 'string', description, pattern: '^[a-z]([-a-z0-9]*[a-z0-9])?$', maxLength: 63 };
    return { type: number % 5 === 0 ? 'integer' : 'string', description };
  };
  const branch = (from: number, count: number): object => ({
    type: 'object',
    description: describe(from, 20),
    properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, leaf(from + index)])),
  });
  const branches = Math.ceil(leaves / 50);
  const properties = Array.from({ length: branches }, (_, index) => [`part${index}`, branch(index * 50, 50)]);
  return {
    type: 'object',
    properties: { spec: { type: 'object', properties: Object.fromEntries(properties) as object } },
  };
}

function definitionOf(kind: string, leaves: number): object {
  const names = { kind, plural: `${kind.toLowerCase()}s`, singular: kind.toLowerCase() };
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schemaOf(leaves) } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${group}` },
    spec: { group, scope: 'Namespaced', names, versions: [version] },
  };
}

/**
 * Returns a server-side apply of a definition. `leaves` is the number of fields in its schema that contain no other
 * named fields; 8,800 of them make 1.2 MB.
 */
export function applyDefinition(kind: string, leaves: number): HostileRequest {
  const headers = { 'content-type': 'application/apply-patch+yaml' };
  const query = '?fieldManager=campaign&force=true';
  const body = JSON.stringify(definitionOf(kind, leaves));
  return { method: 'PATCH', path: `${path}/${kind.toLowerCase()}s.${group}${query}`, headers, body };
}

/** Returns a request that gets 200 when the kind is served. */
export function listOfKind(kind: string): HostileRequest {
  return { method: 'GET', path: `/apis/${group}/v1/${kind.toLowerCase()}s?limit=1` };
}
