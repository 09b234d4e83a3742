import { expect } from 'chai';
import { standardOverloads } from './standard-functions.ts';

/**
 * The functions that kube-apiserver 1.34 has for rules, by the library that declares them. Operators and names with `@`
 * are left out.
 */
const functions: Readonly<Record<string, string>> = {
  CEL: `bool bytes contains double duration dyn endsWith getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours
    getMilliseconds getMinutes getMonth getSeconds int matches size startsWith string timestamp type uint`,
  optionals: 'hasValue optional.none optional.of optional.ofNonZeroValue optional.unwrap or orValue unwrapOpt value',
  texts: `charAt format indexOf join lastIndexOf lowerAscii replace split strings.quote substring trim upperAscii`,
  lists: 'distinct first flatten last lists.range reverse slice sort',
  sets: 'sets.contains sets.equivalent sets.intersects',
  "Kubernetes' lists": 'indexOf isSorted lastIndexOf max min sum',
  "Kubernetes' regular expressions": 'find findAll',
  "Kubernetes' URLs": 'getEscapedPath getHost getHostname getPort getQuery getScheme isURL url',
  "Kubernetes' quantities": `add asApproximateFloat asInteger compareTo isGreaterThan isInteger isLessThan isQuantity quantity sign sub`,
  "Kubernetes' addresses": `cidr containsCIDR containsIP family ip ip.isCanonical isCIDR isGlobalUnicast isIP isLinkLocalMulticast
    isLinkLocalUnicast isLoopback isUnspecified masked prefixLength string`,
  "Kubernetes' formats": `format.byte format.date format.datetime format.dns1035Label format.dns1035LabelPrefix format.dns1123Label
    format.dns1123LabelPrefix format.dns1123Subdomain format.dns1123SubdomainPrefix format.labelValue format.named
    format.qualifiedName format.uri format.uuid validate`,
  "Kubernetes' semantic versions": 'compareTo isGreaterThan isLessThan isSemver major minor patch semver',
};

describe('the functions that a CEL rule can call [spec operators-language]', () => {
  const present = new Set(standardOverloads.map(({ name }) => name));

  for (const [library, names] of Object.entries(functions))
    it(`include those of ${library}`, () => expect([...present]).to.include.members(names.split(/\s+/)));

  it('are only functions that Kubernetes 1.34 has', () => {
    const known = new Set(Object.values(functions).flatMap((names) => names.split(/\s+/)));
    const isOperator = /[_@]/;
    expect([...present].filter((name) => !known.has(name) && !isOperator.test(name))).to.deep.equal([]);
  });
});
