// Random requests about definitions of kinds, with schemas of any shape.
import fc from 'fast-check';
import type { HostileRequest } from './hostile-request.ts';
import { definitionsPath, json } from './random-values.ts';

const keyword = fc.constantFrom(
  'type',
  'properties',
  'items',
  'pattern',
  'enum',
  'oneOf',
  'not',
  'default',
  'required',
  'additionalProperties',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-list-type',
  'x-kubernetes-validations',
  'format',
  '$ref',
  'maximum',
  'nullable',
);

const schema: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  schema: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom({ type: 'string' }, { type: 'object' }, { type: 'array' }, {}),
    fc.dictionary(
      keyword,
      fc.oneof(
        json,
        tie('schema'),
        fc.array(tie('schema'), { maxLength: 4 }),
        fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'c d', ''), tie('schema')),
      ),
    ),
  ),
})).schema;

export const defining = fc
  .tuple(fc.integer({ min: 0, max: 4 }), schema, json, fc.constantFrom('POST', 'PUT'))
  .map(([number, openAPIV3Schema, more, method]): HostileRequest => {
    const names = { plural: `defined${number}s`, singular: `defined${number}`, kind: `Defined${number}` };
    const version = {
      name: 'v1',
      served: true,
      storage: true,
      schema: { openAPIV3Schema },
      additionalPrinterColumns: more,
    };
    const name = `${names.plural}.defined.example.com`;
    const body = JSON.stringify({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name },
      spec: { group: 'defined.example.com', scope: 'Cluster', names, versions: [version] },
    });
    // All requests are dry runs, because otherwise the number of served kinds would grow.
    const path = `${definitionsPath}${method === 'PUT' ? `/${name}` : ''}?dryRun=All`;
    return { method, path, headers: { 'content-type': 'application/json' }, body };
  });
