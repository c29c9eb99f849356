"""A PPO update on one rollout: advantages by episode, a clipped loss, and an early stop by KL divergence."""

from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn as nn


@dataclass
class Statistics:
    losses: list = field(default_factory=list)
    kl: float = 0.0
    stopped: bool = False


def discounted(rewards: torch.Tensor, dones: torch.Tensor, values: torch.Tensor, gamma: float, lam: float):
    advantages = torch.zeros_like(rewards)
    running = torch.zeros(())
    for t in reversed(range(len(rewards))):
        following = values[t + 1] if t + 1 < len(rewards) else torch.zeros(())
        if dones[t]:
            running = torch.zeros(())
            following = torch.zeros(())
        delta = rewards[t] + gamma * following - values[t]
        running = delta + gamma * lam * running
        advantages[t] = running
    return advantages


def explained_variance(values: torch.Tensor, returns: torch.Tensor) -> torch.Tensor:
    variance = returns.var()
    if variance == 0:
        return torch.full((), float("nan"))
    return 1 - (returns - values).var() / variance


def episode_returns(rewards: torch.Tensor, dones: torch.Tensor) -> torch.Tensor:
    """The sum of rewards of each episode that ended."""
    ends = dones.nonzero().flatten() + 1
    if ends.numel() == 0:
        return rewards.sum().unsqueeze(0)
    sizes = torch.diff(ends, prepend=torch.zeros(1, dtype=ends.dtype))
    total = int(ends[-1])
    pieces = torch.split(rewards[:total], sizes.tolist())
    return torch.stack([piece.sum() for piece in pieces])


class ActorCritic(nn.Module):
    def __init__(self, observation: int, actions: int, width: int = 16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(observation, width), nn.Tanh())
        self.policy = nn.Linear(width, actions)
        self.value = nn.Linear(width, 1)

    def forward(self, observation):
        h = self.body(observation)
        return self.policy(h).log_softmax(-1), self.value(h).squeeze(-1)


class Model(nn.Module):
    def __init__(self, observation: int = 4, actions: int = 3, epochs: int = 3, target_kl: float = 0.05):
        super().__init__()
        self.net = ActorCritic(observation, actions)
        self.epochs = epochs
        self.target_kl = target_kl
        self.clip = 0.2
        self.register_buffer("reward_scale", torch.ones(()))

    def scale_rewards(self, rewards):
        std = rewards.std()
        if std > 1e-6:
            self.reward_scale.copy_(0.9 * self.reward_scale + 0.1 * std)
        return rewards / self.reward_scale

    def forward(self, observations, actions, rewards, dones, old_log_probs):
        if actions.max() >= self.net.policy.out_features:
            raise ValueError("no such action")
        scaled = self.scale_rewards(rewards)
        with torch.no_grad():
            _, values = self.net(observations)
            advantages = discounted(scaled, dones, values, 0.99, 0.95)
            returns = advantages + values
        if advantages.std() > 1e-8:
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        stats = Statistics()
        loss = torch.zeros(())
        for epoch in range(self.epochs):
            log_probs, predicted = self.net(observations + 0.01 * epoch)
            taken = log_probs.gather(1, actions[:, None]).squeeze(1)
            log_ratio = taken - old_log_probs
            ratio = log_ratio.exp()
            kl = ((ratio - 1) - log_ratio).mean()
            if kl > self.target_kl:
                stats.stopped = True
                break
            clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
            policy_loss = -torch.min(ratio * advantages, clipped * advantages).mean()
            value_loss = (predicted - returns).pow(2).mean()
            loss = loss + policy_loss + 0.5 * value_loss
            stats.losses.append(policy_loss)
        if torch.isnan(loss):
            raise FloatingPointError("the loss is not a number")
        finished = episode_returns(rewards, dones)
        mean_return = np.float32(1.0) * finished.mean()
        return {
            "loss": loss,
            "returns": mean_return,
            "best": finished.max(),
            "explained": explained_variance(values, returns),
        }


def make_inputs(seed: int):
    generator = torch.Generator().manual_seed(seed)
    observations = torch.randn(8, 4, generator=generator)
    actions = torch.randint(0, 3, (8,), generator=generator)
    rewards = torch.randn(8, generator=generator) * (seed % 4 != 2)
    dones = torch.rand(8, generator=generator) < (0.0, 0.3, 0.6)[seed % 3]
    old = -torch.rand(8, generator=generator) * (0.2 if seed % 2 else 1.5) - 0.8
    return observations, actions, rewards, dones, old
