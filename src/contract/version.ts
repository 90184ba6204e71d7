// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a change of the version: the contract grows, it does not move.

export const CONTRACT_VERSION = '1.0.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '761fa1c031fbf95aa4dae630bcc386a50fabeed399a7da80572d94b4a0adc99a';
