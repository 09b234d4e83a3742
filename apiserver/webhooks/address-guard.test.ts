import { expect } from 'chai';
import { checkLiteralHost, guardedLookup, isBlockedAddress } from './address-guard.ts';

describe('isBlockedAddress', () => {
  const never = [
    '169.254.169.254',
    '169.254.0.1',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::6464:64c8',
    '::a9fe:a9fe',
    '::ffff:0:a9fe:a9fe',
    '2002:a9fe:a9fe::1',
    'fe80::1',
    'fd00:ec2::254',
    '100.100.100.200',
    '168.63.129.16',
    '0.0.0.0',
    '::',
    '224.0.0.1',
    'ff02::1',
  ];
  for (const address of never) {
    it(`blocks ${address}`, () => expect(isBlockedAddress(address)).to.equal(true));
  }

  for (const address of [
    '127.0.0.1',
    '::1',
    '10.0.0.1',
    '192.168.1.1',
    '203.0.113.7',
    'fd00::1',
    '2001:db8::1',
    '64:ff9b::cb00:7107',
  ]) {
    it(`does not block ${address}`, () => expect(isBlockedAddress(address)).to.equal(false));
  }
});

describe('guardedLookup', () => {
  it('refuses a host name that resolves to a blocked address [spec operators-webhook-hosts]', async () => {
    const error = await new Promise<Error | null>((resolve) => guardedLookup('169.254.169.254', {}, resolve));
    expect(error?.message).to.match(/link-local or metadata address/);
  });

  it('returns one address or all addresses, as requested', async () => {
    const one = await new Promise<unknown>((resolve) => guardedLookup('127.0.0.1', {}, (...found) => resolve(found)));
    expect(one).to.deep.equal([null, '127.0.0.1', 4]);
    const all = await new Promise<unknown>((resolve) =>
      guardedLookup('127.0.0.1', { all: true }, (...found) => resolve(found)),
    );
    expect(all).to.deep.equal([null, [{ address: '127.0.0.1', family: 4 }]]);
  });

  it('leaves IP addresses in URLs to checkLiteralHost, which refuses blocked addresses', () => {
    expect(() => checkLiteralHost('[fe80::1]')).to.throw(/never called/);
    checkLiteralHost('127.0.0.1');
    checkLiteralHost('example.com');
  });
});
