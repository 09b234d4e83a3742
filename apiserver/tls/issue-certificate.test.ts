import { expect } from 'chai';
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { addressBytes } from './certificate-der.ts';
import { derContent, encodeInteger, encodeObjectId, encodeOctetString, encodeTime } from './der.ts';
import { issueAuthority, issueClient, issueServer } from './issue-certificate.ts';
import type { KeyAndChain } from './pem.ts';

const dayMs = 86_400_000;
const nowMs = Date.UTC(2031, 1, 3, 4, 5, 6);
const validity = { nowMs, untilMs: nowMs + dayMs };

async function makeAuthority(): Promise<KeyAndChain> {
  const { key, cert } = await issueAuthority({ nowMs, untilMs: nowMs + 7300 * dayMs });
  return { key: createPrivateKey(key), chain: [new X509Certificate(cert)] };
}

const hex = (bytes: Buffer): string => bytes.toString('hex');

describe('issued certificates', () => {
  it('issueAuthority returns a self-signed CA certificate, which may expire after 2050', async () => {
    const { key, chain } = await makeAuthority();
    const [root] = chain;
    expect(root.checkIssued(root) && root.verify(root.publicKey) && root.checkPrivateKey(key)).to.equal(true);
    expect(root.ca).to.equal(true);
    expect(root.subject)
      .to.match(/^CN=homeostat-ca-[0-9a-f]{12}$/)
      .and.equal(root.issuer);
    expect(Date.parse(root.validTo)).to.equal(nowMs + 7300 * dayMs);
    expect(Date.parse(root.validFrom)).to.equal(nowMs - 3_600_000);
  });

  it('of a server are valid for its host names, IPv4 addresses and IPv6 addresses', async () => {
    const authority = await makeAuthority();
    const names = ['localhost', '127.0.0.1', '::1', 'fd00::7', '::ffff:10.1.2.3', 'home.example.com'];
    const { cert } = await issueServer(authority, { ...validity, names });
    const certificate = new X509Certificate(cert);
    expect(certificate.subjectAltName).to.equal(
      'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:FD00:0:0:0:0:0:0:7, ' +
        'IP Address:0:0:0:0:0:FFFF:A01:203, DNS:home.example.com',
    );
    expect(certificate.keyUsage).to.deep.equal(['1.3.6.1.5.5.7.3.1']);
    expect(certificate.ca).to.equal(false);
    expect(certificate.checkIssued(authority.chain[0])).to.equal(true);
    expect(certificate.verify(authority.chain[0].publicKey)).to.equal(true);
  });

  it('of a client contain the user, and groups with long names or special characters, and have different serial numbers', async () => {
    const authority = await makeAuthority();
    const groups = ['x'.repeat(300), 'ä,O=b'];
    const issue = async (): Promise<X509Certificate> =>
      new X509Certificate((await issueClient(authority, { ...validity, user: 'ann', groups })).cert);
    const [one, two] = [await issue(), await issue()];
    const { CN, O } = one.toLegacyObject().subject as unknown as { readonly CN: string; readonly O: readonly string[] };
    expect({ CN, O }).to.deep.equal({ CN: 'ann', O: groups });
    expect(one.keyUsage).to.deep.equal(['1.3.6.1.5.5.7.3.2']);
    expect(one.serialNumber).to.have.lengthOf.at.most(32).and.not.equal(two.serialNumber);
  });

  it('are not issued when the key of the authority is not an EC key', async () => {
    const { chain } = await makeAuthority();
    const { privateKey } = generateKeyPairSync('ed25519');
    const problem = await issueServer({ key: privateKey, chain }, { ...validity, names: [] }).catch(
      (error: unknown) => (error as Error).message,
    );
    expect(problem).to.equal('the key of the authority must be an EC key, and is ed25519');
  });
});

describe('DER', () => {
  it('has the encodings of X.690: the shortest integers, lengths of several bytes, identifiers in base 128', () => {
    expect(['00', '7f', '80', '0001'].map((each) => hex(encodeInteger(Buffer.from(each, 'hex'))))).to.deep.equal([
      '020100',
      '02017f',
      '02020080',
      '020101',
    ]);
    expect(hex(encodeObjectId('1.2.840.113549'))).to.equal('06062a864886f70d');
    const lengths = [127, 128, 256, 65_536].map((length) => encodeOctetString(Buffer.alloc(length)));
    expect(lengths.map((value) => hex(value.subarray(0, value.length - derContent(value).length)))).to.deep.equal([
      '047f',
      '048180',
      '04820100',
      '0483010000',
    ]);
  });

  it('encodes the year of a time with two digits up to 2049, and with four digits from 2050', () => {
    const texts = [Date.UTC(2049, 11, 31, 23, 59, 59), Date.UTC(2050, 0, 1)].map(encodeTime);
    expect(texts.map((value) => `${value.at(0)?.toString(16)} ${derContent(value).toString()}`)).to.deep.equal([
      '17 491231235959Z',
      '18 20500101000000Z',
    ]);
  });

  it('encodes an IPv4 address in four bytes, and an IPv6 address in sixteen', () => {
    expect(hex(addressBytes('10.0.255.1'))).to.equal('0a00ff01');
    expect(hex(addressBytes('::'))).to.equal('0'.repeat(32));
    expect(hex(addressBytes('1:2:3:4:5:6:7:abcd'))).to.equal('0001000200030004000500060007abcd');
    expect(hex(addressBytes('fe80::'))).to.equal(`fe80${'0'.repeat(28)}`);
  });
});
