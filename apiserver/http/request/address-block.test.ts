import { expect } from 'chai';
import { addressBlock } from './address-block.ts';

describe('addressBlock', () => {
  const blocks = {
    '10.0.0.1': '10.0.0.1',
    '::ffff:10.0.0.1': '10.0.0.1',
    '::ffff:0a00:1': '10.0.0.1',
    '0:0:0:0:0:ffff:10.0.0.1': '10.0.0.1',
    '::1': '0:0:0:0::/64',
    '2001:db8::1': '2001:db8:0:0::/64',
    '2001:DB8:0:0:ffff::1': '2001:db8:0:0::/64',
    '2001:db8:0:1::': '2001:db8:0:1::/64',
    '1:2:3:4:5:6:7:8': '1:2:3:4::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '': '',
  };
  for (const [address, block] of Object.entries(blocks))
    it(`returns the block ${block} for the address "${address}"`, () => expect(addressBlock(address)).to.equal(block));
});
