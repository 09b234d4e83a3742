import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import {
  checkDnsLabel,
  checkDnsSubdomain,
  checkGenerateName,
  checkLabelValue,
  checkName,
  checkQualifiedName,
  generateName,
} from './names.ts';

type Verdict = true | readonly string[];

interface NameCase {
  readonly value: string;
  readonly dns1123Label: Verdict;
  readonly dns1123Subdomain: Verdict;
  readonly qualifiedName_labelKey: Verdict;
  readonly labelValue: Verdict;
  readonly objectNameDNSSubdomain: Verdict;
  readonly generateNamePrefixDNSSubdomain: Verdict;
  readonly seedSpec_2_4_name: boolean;
}

const { cases } = JSON.parse(readFileSync(new URL('../../../../test/vectors/names.json', import.meta.url), 'utf8')) as {
  cases: readonly NameCase[];
};

function expectVerdicts(check: (value: string) => readonly string[], verdictOf: (each: NameCase) => Verdict): void {
  for (const each of cases) {
    const verdict = verdictOf(each);
    expect(check(each.value), JSON.stringify(each.value)).to.deep.equal(verdict === true ? [] : verdict);
  }
}

describe('the checks of names', () => {
  it('a DNS label is accepted exactly when Kubernetes accepts it', () => {
    expectVerdicts(checkDnsLabel, (each) => each.dns1123Label);
  });

  it('checkDnsSubdomain, and checkName with the format subdomain, accept a value exactly when Kubernetes accepts it', () => {
    expectVerdicts(checkDnsSubdomain, (each) => each.dns1123Subdomain);
    expectVerdicts(
      (value) => checkName(value, 'subdomain'),
      (each) => each.objectNameDNSSubdomain,
    );
  });

  it('a qualified name and a label value are accepted exactly when Kubernetes accepts them', () => {
    expectVerdicts(checkQualifiedName, (each) => each.qualifiedName_labelKey);
    expectVerdicts(checkLabelValue, (each) => each.labelValue);
  });

  it('a prefix of generated names is accepted exactly when Kubernetes accepts it', () => {
    expectVerdicts(
      (value) => checkGenerateName(value, 'subdomain'),
      (each) => each.generateNamePrefixDNSSubdomain,
    );
  });

  it('the label format follows the naming rule of the specification (2.4) [spec 2.4-length, 2.4-characters, 2.4-ends]', () => {
    for (const each of cases) {
      const isValid = checkName(each.value, 'label').length === 0;
      expect(isValid, JSON.stringify(each.value)).to.equal(each.seedSpec_2_4_name);
    }
  });

  it('the subdomain format accepts each test value that the label format accepts', () => {
    const strict = cases.filter((each) => checkName(each.value, 'label').length === 0);
    expect(strict).to.have.length.above(0);
    for (const each of strict) expect(checkName(each.value, 'subdomain')).to.deep.equal([]);
  });

  it('a name of a million characters is refused quickly', () => {
    const hostile = `${'a-'.repeat(500_000)}!`;
    for (const check of [checkDnsLabel, checkDnsSubdomain, checkQualifiedName, checkLabelValue]) {
      expect(check(hostile)).to.have.length(2);
    }
  });
});

describe('generateName', () => {
  it('cuts the prefix to 58 characters and appends 5 characters of the alphabet for generated names', () => {
    const name = generateName('g'.repeat(100), () => 0.5);
    expect(name).to.match(/^g{58}[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  it('uses the first character of the alphabet for the smallest random number, and the last for the largest', () => {
    expect(generateName('a-', () => 0)).to.equal('a-bbbbb');
    expect(generateName('a-', () => 1 - Number.EPSILON / 2)).to.equal('a-99999');
  });

  it('makes a valid name of each prefix that the label format accepts', () => {
    const prefixes = cases.map((each) => each.value).filter((value) => checkGenerateName(value, 'label').length === 0);
    expect(prefixes).to.have.length.above(0);
    for (const prefix of prefixes) {
      expect(
        checkName(
          generateName(prefix, () => 0.3),
          'label',
        ),
        prefix,
      ).to.deep.equal([]);
    }
  });
});
