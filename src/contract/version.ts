// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.2.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '3fac05eba3ba1c4b4e554948c526b5e9ddada29586f0d7895aa04236ff97d048';
