import { controller } from 'homeostat';
import { Certificate, Page, Redirect } from './models.ts';

// These stand for whatever really serves pages and issues certificates: they say at once that it is done.

export const pageController = controller(Page, {
  async reconcile({ status }) {
    await status({ ready: true });
  },
});

export const redirectController = controller(Redirect, {
  async reconcile({ status }) {
    await status({ ready: true });
  },
});

export const certificateController = controller(Certificate, {
  async reconcile({ object, status }) {
    // No such host exists, by RFC 2606: no authority issues a certificate for it.
    await status({ ready: !object.spec.host.endsWith('.invalid') });
  },
  cleanup({ object, logger }) {
    logger.info({ host: object.spec.host }, 'the certificate is revoked');
  },
});
