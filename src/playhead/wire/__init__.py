"""How others write it: pure maps between our messages and the bodies of model providers, without their packages."""
