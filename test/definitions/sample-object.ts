import type { JsonObject } from '@homeostat/controller-runtime/api';
import { isJsonObject } from '@homeostat/controller-runtime/api';

/** Sample texts of the formats that definitions use. */
const texts: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  duration: '1h',
  uri: 'https://example.com',
  url: 'https://example.com',
  email: 'ann@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  cidr: '192.0.2.0/24',
  uuid: '123e4567-e89b-12d3-a456-426614174000',
  byte: 'AAEC',
};

/** Sample texts for patterns: the first one that matches is used. */
const candidates = [
  'a',
  'abc',
  'a1',
  '1',
  '10',
  '1h',
  '10s',
  'v1',
  'A',
  '/a',
  'a/b',
  'a.example.com',
  'https://example.com',
  '1.0.0',
  '10Mi',
  '',
];

/**
 * Returns a small value for a schema. The function considers only some keywords, so the server may refuse the value.
 */
export function sampleOf(schema: JsonObject): unknown {
  const { type, properties, required, items, minItems } = schema;
  if (schema['default'] !== undefined) return schema['default'];
  if (Array.isArray(schema['enum'])) return schema['enum'].find((each) => each !== '') ?? schema['enum'][0];
  if (schema['x-kubernetes-int-or-string'] === true) return 1;
  if (type === 'object') return sampleObject(isJsonObject(properties) ? properties : {}, required);
  if (type === 'array') {
    const item = isJsonObject(items) ? items : {};
    return Array.from({ length: Number(minItems ?? 0) }, () => sampleOf(item));
  }
  if (type === 'integer' || type === 'number')
    return Number(schema['minimum'] ?? 1) + (schema['exclusiveMinimum'] === true ? 1 : 0);
  if (type === 'boolean') return false;
  return sampleText(schema);
}

function sampleObject(properties: JsonObject, required: unknown): JsonObject {
  const names = Array.isArray(required) ? required.map(String) : [];
  const fields = names.map((name) => {
    const schema = properties[name];
    return [name, isJsonObject(schema) ? sampleOf(schema) : {}] as const;
  });
  return Object.fromEntries(fields);
}

function sampleText({ format, pattern, minLength }: JsonObject): string {
  const known = typeof format === 'string' ? texts[format] : undefined;
  if (known !== undefined) return known;
  const least = Number(minLength ?? 0);
  const tried = candidates.map((each) => each.padEnd(least, 'a'));
  if (typeof pattern !== 'string') return tried[0] ?? '';
  // For a pattern of RE2 that is not valid in JavaScript, the function returns the first sample.
  try {
    const expression = new RegExp(pattern);
    return tried.find((each) => expression.test(each)) ?? tried[0] ?? '';
  } catch {
    return tried[0] ?? '';
  }
}
