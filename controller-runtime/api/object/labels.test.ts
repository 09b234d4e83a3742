import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { checkAnnotations, checkLabels } from './labels.ts';

interface TableCase {
  readonly expect: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

const { tables } = JSON.parse(
  readFileSync(new URL('../../../../test/vectors/misc-tables.json', import.meta.url), 'utf8'),
) as { tables: readonly { table: string; cases: readonly TableCase[] }[] };

function tableOf(name: string): readonly TableCase[] {
  const found = tables.find(({ table }) => table === name);
  expect(found?.cases, name).to.have.length.above(0);
  return found?.cases ?? [];
}

const badValue =
  "Invalid value: \"bad value!\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

describe('checkLabels', () => {
  it('refuses the labels that tests of Kubernetes expect to be refused, with the text that these tests expect', () => {
    const keys = tableOf('v1_validation.TestValidateLabels.labelNameErrorCases');
    const values = tableOf('v1_validation.TestValidateLabels.labelValueErrorCases');
    for (const each of [...keys, ...values]) {
      const [cause] = checkLabels(each.labels ?? {}, 'metadata.labels');
      expect(cause?.message).to.contain(each.expect);
      expect(cause).to.include({ reason: 'FieldValueInvalid', field: 'metadata.labels' });
    }
  });

  it('refuses labels with the messages of Kubernetes', () => {
    expect(checkLabels({ a: 'bad value!' }, 'metadata.labels')).to.deep.equal([
      { reason: 'FieldValueInvalid', field: 'metadata.labels', message: badValue },
    ]);
  });

  it('reports all invalid labels at once', () => {
    const causes = checkLabels({ '-a': 'x', 'a/b/c': 'bad value!', fine: '' }, 'metadata.labels');
    expect(causes.map(({ message }) => /"[^"]*"/.exec(message)?.[0])).to.deep.equal([
      '"-a"',
      '"a/b/c"',
      '"bad value!"',
    ]);
  });

  it('allows dots in the prefix and capitals in the name, but no capitals in the prefix', () => {
    expect(checkLabels({ 'my.example.com/My_Key.x': 'V' }, 'metadata.labels')).to.deep.equal([]);
    expect(checkLabels({ 'My.example.com/key': 'v' }, 'metadata.labels')).to.have.length(1);
  });

  it('reports at most 100 violations, and cuts long values in their messages', () => {
    const labels = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`!${index}`, 'v']));
    expect(checkLabels(labels, 'metadata.labels')).to.have.length(100);
    const [cause] = checkLabels({ a: 'x'.repeat(1_000_000) }, 'metadata.labels');
    expect(cause?.message.length).to.be.lessThan(1200);
  });
});

describe('checkAnnotations', () => {
  it('refuses the annotations that tests of Kubernetes expect to be refused, with the text that these tests expect', () => {
    for (const each of tableOf('api_validation.TestValidateAnnotations.nameErrorCases')) {
      const [cause] = checkAnnotations(each.annotations ?? {}, 'metadata.annotations');
      expect(cause?.message).to.contain(each.expect);
      expect(cause?.field).to.equal('metadata.annotations');
    }
  });

  it('allows any text as a value, and capitals in the prefix of the key', () => {
    expect(checkAnnotations({ 'Example.com/A': 'any\ntext ✓' }, 'metadata.annotations')).to.deep.equal([]);
  });

  it('allows at most 256 KiB for all annotations together, counted in bytes of UTF-8, keys included', () => {
    const room = 256 * 1024 - 'key'.length;
    for (const [char, bytes] of [
      ['x', 1],
      ['é', 2],
      ['✓', 3],
      ['😀', 4],
    ] as const) {
      const fitting = char.repeat(Math.floor(room / bytes));
      expect(checkAnnotations({ key: fitting }, 'metadata.annotations'), char).to.deep.equal([]);
      expect(checkAnnotations({ key: fitting + char }, 'metadata.annotations'), char).to.deep.equal([
        {
          reason: 'FieldValueTooLong',
          message: 'Too long: may not be more than 262144 bytes',
          field: 'metadata.annotations',
        },
      ]);
    }
  });
});
