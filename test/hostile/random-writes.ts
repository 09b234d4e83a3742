// Random writes of every type, with bodies that are almost valid.
import fc from 'fast-check';
import { persons } from '../support/models/models.ts';
import { things } from './models.ts';
import type { HostileRequest } from './hostile-request.ts';
import { visible, definitionsPath, repeated, json, almostThing } from './random-values.ts';

const yaml = fc.oneof(
  fc.string(),
  repeated,
  almostThing.map(({ text }) => text),
  almostThing.map(({ text }) => `--- # a comment\n${text}\n...\n`),
  fc
    .tuple(
      fc.constantFrom(
        'a: &a [1]\nb: *a',
        '? [a]\n: b',
        'a: !!binary x',
        '%YAML 1.1\n---\na: yes',
        'a: |\n  b\n c',
        '<<: {a: 1}',
        'a: .nan',
        '- - - a',
      ),
      repeated,
    )
    .map(([start, more]) => `${start}\nc: "${more.replaceAll(/["\\]/g, '')}"\n`),
);

const pointer = fc.oneof(
  fc.constantFrom(
    '/spec',
    '/spec/any',
    '/spec/any/a',
    '/spec/tags/-',
    '/spec/tags/0',
    '/metadata/labels',
    '',
    '/spec/any/__proto__/x',
  ),
  repeated.map((text) => `/spec/${text}`),
  visible,
);

export const patching = fc
  .tuple(
    fc.constantFrom(`${things}/random-1`, `${persons}/ann`, `${things}/none`),
    fc.array(
      fc.record(
        {
          op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'x'),
          path: pointer,
          from: pointer,
          value: json,
        },
        { requiredKeys: ['op'] },
      ),
      { maxLength: 60 },
    ),
    fc.constantFrom(
      'application/json-patch+json',
      'application/merge-patch+json',
      'application/strategic-merge-patch+json',
      '',
    ),
  )
  .map(([path, patch, type]): HostileRequest => ({
    method: 'PATCH',
    path,
    headers: { 'content-type': type },
    body: JSON.stringify(patch),
  }));

export const merging = fc
  .tuple(
    fc.constantFrom(`${things}/random-1`, `${persons}/ann`),
    fc.record({ metadata: json, spec: json, status: json, kind: json }, { requiredKeys: [] }),
  )
  .map(([path, patch]): HostileRequest => ({
    method: 'PATCH',
    path,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify(patch),
  }));

export const applying = fc
  .tuple(
    almostThing,
    fc.constantFrom(
      '',
      'fieldManager=a',
      'fieldManager=b&force=true',
      'fieldManager=b',
      `fieldManager=${'m'.repeat(200)}`,
    ),
  )
  .map(([{ name, text }, options]): HostileRequest => ({
    method: 'PATCH',
    path: `${things}/${name}?${options}`,
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: text,
  }));

export const writing = fc
  .tuple(
    almostThing,
    fc.constantFrom('POST', 'PUT'),
    fc.constantFrom('', 'fieldValidation=Strict', 'dryRun=All', 'fieldManager='),
  )
  .map(([{ name, text }, method, options]): HostileRequest => ({
    method,
    path: `${things}${method === 'PUT' ? `/${name}` : ''}?${options}`,
    headers: { 'content-type': 'application/json' },
    body: text,
  }));

export const reading = fc
  .tuple(
    yaml,
    fc.constantFrom(
      things,
      persons,
      '/api/v1/namespaces',
      definitionsPath,
      '/apis/authentication.k8s.io/v1/tokenreviews',
    ),
  )
  .map(([text, path]): HostileRequest => ({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/yaml' },
    body: text,
  }));

export const protobuf = fc
  .tuple(
    fc.uint8Array({ maxLength: 2000 }),
    fc.constantFrom('/api/v1/namespaces', '/apis/coordination.k8s.io/v1/namespaces/default/leases', things),
  )
  .map(([bytes, path]): HostileRequest => ({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
    body: Buffer.concat([Buffer.from('k8s\0'), bytes]),
  }));
