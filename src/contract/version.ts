// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.2.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'ae17b2773c8f55415a5efec75a07f90eed19934bcb3aa0d801b2a22e280c64ce';
