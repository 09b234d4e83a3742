import { isPlainObject } from '../base/plain-object.ts';
import { quoteValue } from '../errors/field-cause.ts';
import { JsonPath } from '../base/json-path.ts';
import type { PrinterColumn } from '../model/model.ts';
import { unknownKeyOf } from '../base/unknown-key.ts';

/** The maximum number of columns. No terminal is wide enough for more, and each column costs time in each row. */
const maxColumns = 64;

const keys: readonly string[] = ['name', 'type', 'jsonPath', 'format', 'description', 'priority'];

const types: readonly unknown[] = ['integer', 'number', 'string', 'boolean', 'date'];

/** The formats that Kubernetes allows for a column. */
const formats: readonly unknown[] = 'int32 int64 float double byte date date-time password'.split(' ');

const priorityRule =
  'must be a whole number from 0 to 2147483647; a column with a priority above 0 is shown only in wide output';

/**
 * Returns the first rule that the columns of a model break. The returned text names the column by its index, which
 * starts at 0, and the field of the column.
 */
export function brokenColumnRule(columns: readonly PrinterColumn[]): string | undefined {
  if (columns.length > maxColumns) return `at most ${maxColumns} columns`;
  for (const [index, column] of columns.entries()) {
    const broken = isPlainObject(column)
      ? (unknownKeyOf(column, keys) ?? brokenRule(column))
      : 'must be an object with name, type and jsonPath';
    if (broken !== undefined) return `column ${index}: ${broken}`;
  }
  return undefined;
}

// TypeScript checks the types of these fields already; authors who use JavaScript need these checks.
function brokenRule({
  name,
  type,
  jsonPath,
  format,
  description,
  priority,
}: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof name !== 'string' || !/^[^\p{Cc}]{1,253}$/u.test(name))
    return must('name', name, 'must be text of 1 to 253 characters, on one line');
  if (!types.includes(type)) return must('type', type, `must be one of ${types.join(', ')}`);
  if (format !== undefined && format !== '' && !formats.includes(format))
    return must('format', format, `must be one of ${formats.join(', ')}`);
  if (description !== undefined && typeof description !== 'string')
    return must('description', description, 'must be text');
  if (priority !== undefined && !(Number.isInteger(priority) && Number(priority) >= 0 && Number(priority) < 2 ** 31))
    return must('priority', priority, priorityRule);
  return brokenPath(jsonPath);
}

function brokenPath(jsonPath: unknown): string | undefined {
  if (typeof jsonPath !== 'string') return must('jsonPath', jsonPath, 'must start with a dot, such as .spec.name');
  try {
    return void new JsonPath(jsonPath);
  } catch (error) {
    if (error instanceof RangeError) return must('jsonPath', jsonPath, error.message);
    throw error;
  }
}

function must(field: string, value: unknown, rule: string): string {
  return value === undefined ? `${field} is missing; it ${rule}` : `${field} ${quoteValue(value)} ${rule}`;
}
